"""Rows for training and labelling."""

from __future__ import annotations

from typing import Any

from fermiclass.rows.chunk import RowReader


class Rows(RowReader):
    """Any number of rows in a fixed order. Estimators use these methods to train on them and to label them."""

    def train(self, settings: Any, **options: Any) -> Any:
        """Train on these rows; see :func:`fermiclass.rows.fitting.train_on_rows`."""
        from fermiclass.rows.fitting import train_on_rows

        return train_on_rows(settings, self, **options)

    def label(self, estimator: Any, path: Any, **options: Any) -> None:
        """Write labels by an estimator to a file; see :func:`fermiclass.rows.labelling.predict_rows`."""
        from fermiclass.rows.labelling import predict_rows

        predict_rows(estimator, self, path, **options)

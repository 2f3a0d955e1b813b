"""fermiclass: probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

>>> import fermiclass as fc
>>> catalog = fc.read_catalog("4FGL-DR4.fits")
>>> labels = fc.classify(catalog)

TensorFlow is not imported before a model is built.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from fermiclass._version import __version__

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until somebody asks for the records

# Where each public name lives; modules are imported when one of their names is first asked for.
_HOMES = {
    "Catalog": "fermiclass.catalog",
    "ClassGrouping": "fermiclass.catalog",
    "read_catalog": "fermiclass.catalog",
    "read_sources": "fermiclass.catalog",
    "join": "fermiclass.analysis.joining",
    "relabel": "fermiclass.analysis.joining",
    "FermiclassError": "fermiclass.errors",
    "send_table": "fermiclass.io.samp",
    "NIMGPClassifier": "fermiclass.nimgp.estimators.classifier",
    "Explanation": "fermiclass.analysis.explain",
    "explain": "fermiclass.analysis.explain",
    "FeatureTable": "fermiclass.features",
    "extract_features": "fermiclass.features",
    "load_model": "fermiclass.labelling.archive",
    "save_model": "fermiclass.labelling.archive",
    "NIMGPRegressor": "fermiclass.nimgp.estimators.sparse_regressor",
    "find_outliers": "fermiclass.analysis.outliers",
    "CatalogModel": "fermiclass.labelling.catalog_model",
    "classify": "fermiclass.labelling.training",
    "train": "fermiclass.labelling.training",
    "followup": "fermiclass.analysis.followup",
    "read_metrics": "fermiclass.show.page",
    "report_page": "fermiclass.show.page",
    "write_report": "fermiclass.show.page",
    "retrain": "fermiclass.labelling.retraining",
    "RobustGPClassifier": "fermiclass.nimgp.estimators.robust_classifier",
    "UncertainGPRegressor": "fermiclass.nimgp.estimators.exact_regressor",
    "Census": "fermiclass.labelling.census",
    "take_census": "fermiclass.labelling.census",
    "fit_rows": "fermiclass.rows",
    "open_rows": "fermiclass.rows",
    "predict_rows": "fermiclass.rows",
    "read_table": "fermiclass.io.tables",
    "write_table": "fermiclass.io.tables",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fermiclass' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

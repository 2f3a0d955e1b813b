"""fermiclass: probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

>>> import fermiclass as fc
>>> catalog = fc.read_catalog("4FGL-DR4.fits")
>>> labels = fc.classify(catalog)

TensorFlow is not imported before a model is built.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fermiclass._version import __version__

# Where each public name lives; modules are imported when one of their names is first asked for.
_HOMES = {
    "Catalog": "fermiclass.catalog",
    "ClassGrouping": "fermiclass.catalog",
    "read_catalog": "fermiclass.catalog",
    "FermiclassError": "fermiclass.errors",
    "send_table": "fermiclass.messaging",
    "NIMGPClassifier": "fermiclass.estimators",
    "Explanation": "fermiclass.explaining",
    "explain": "fermiclass.explaining",
    "FeatureTable": "fermiclass.features",
    "extract_features": "fermiclass.features",
    "load_model": "fermiclass.model_folder",
    "save_model": "fermiclass.model_folder",
    "NIMGPRegressor": "fermiclass.noisy_regressor",
    "find_outliers": "fermiclass.outliers",
    "TrainedModel": "fermiclass.pipeline",
    "classify": "fermiclass.pipeline",
    "train": "fermiclass.pipeline",
    "followup": "fermiclass.ranking",
    "read_metrics": "fermiclass.report",
    "report_page": "fermiclass.report",
    "write_report": "fermiclass.report",
    "retrain": "fermiclass.retraining",
    "RobustGPClassifier": "fermiclass.robust_estimators",
    "UncertainGPRegressor": "fermiclass.regressor",
    "open_rows": "fermiclass.rows",
    "read_table": "fermiclass.tables",
    "write_table": "fermiclass.tables",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fermiclass' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

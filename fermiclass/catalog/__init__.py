"""LAT catalogues: their releases, reading, checks of values, classes, and names of sources."""

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.classes import (
    CLASS_CODES,
    CLASS_TREE,
    DEFAULT_CLASSES,
    SOURCE_STATUSES,
    TARGETS,
    THREE_CLASSES,
    UNCERTAIN_CLASSES,
    ClassGrouping,
    status_of,
)
from fermiclass.catalog.reading import read_catalog
from fermiclass.catalog.releases import (
    RELEASES,
    REQUIRED_COLUMNS,
    CatalogWarning,
    Release,
    UnknownReleaseWarning,
    recognise,
)

__all__ = [
    "CLASS_CODES",
    "CLASS_TREE",
    "DEFAULT_CLASSES",
    "RELEASES",
    "REQUIRED_COLUMNS",
    "SOURCE_STATUSES",
    "TARGETS",
    "THREE_CLASSES",
    "UNCERTAIN_CLASSES",
    "Catalog",
    "CatalogWarning",
    "ClassGrouping",
    "Release",
    "UnknownReleaseWarning",
    "read_catalog",
    "recognise",
    "status_of",
]

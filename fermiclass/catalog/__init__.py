"""LAT catalogues: their releases, reading, checks of values, classes, and names of sources."""

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.classes import (
    CLASS_CODES,
    CLASS_TREE,
    NATURES,
    SOURCE_STATUSES,
    TARGETS,
    THREE_CLASSES,
    UNCERTAIN_CLASSES,
    ClassGrouping,
    default_classes,
    has_two_kinds,
    natures_of,
)
from fermiclass.catalog.reading import read_catalog
from fermiclass.catalog.releases import RELEASES, CatalogWarning

__all__ = [
    "CLASS_CODES",
    "CLASS_TREE",
    "NATURES",
    "RELEASES",
    "SOURCE_STATUSES",
    "TARGETS",
    "THREE_CLASSES",
    "UNCERTAIN_CLASSES",
    "Catalog",
    "CatalogWarning",
    "ClassGrouping",
    "default_classes",
    "has_two_kinds",
    "natures_of",
    "read_catalog",
]

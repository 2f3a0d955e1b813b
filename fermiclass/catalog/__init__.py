"""LAT catalogues: their releases, reading, checks of values, classes, and names of sources."""

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.classes import (
    CHANCE_CODES,
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
from fermiclass.catalog.own_sources import OWN_SOURCES, read_sources
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
    "CHANCE_CODES",
    "CLASS_CODES",
    "CLASS_TREE",
    "NATURES",
    "OWN_SOURCES",
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
    "default_classes",
    "has_two_kinds",
    "natures_of",
    "read_catalog",
    "read_sources",
    "recognise",
]

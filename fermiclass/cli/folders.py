"""Loading of model folders, whose kind is checked before TensorFlow starts, and of the catalogues of labels."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from astropy.table import Table

from fermiclass.brought.sources import read_sources
from fermiclass.catalog import Catalog
from fermiclass.catalog.origin import Origin
from fermiclass.errors import CatalogError, ModelFolderError
from fermiclass.io.model_folder import CATALOGUE, ESTIMATOR, ROWS, ModelFiles, read_model_folder
from fermiclass.io.tables import read_table
from fermiclass.labelling.counterparts import COUNTERPARTS_KEY
from fermiclass.labelling.labels import Labels
from fermiclass.nimgp.prediction.first_order import in_numpy
from fermiclass.nimgp.settings import Settings
from fermiclass.saved import load_model
from fermiclass.show.terminal import load_tensorflow

_COMPRESSED = (".gz", ".bz2", ".xz")
_CATALOGUES = (".fits", ".fit", ".vot", ".votable", ".xml", ".parquet", ".csv", ".ecsv")


def look_for(origin: Origin, beside: Path, option: str) -> Catalog:
    """Return the catalogue of this origin, from this folder or that of labels or a model, without joined tables."""
    folders = dict.fromkeys(folder.resolve() for folder in (Path(), beside.parent))
    there = [path for path in (folder / Path(origin.source).name for folder in folders) if path.is_file()]
    for path in there:
        found = read_sources(path, origin.columns, origin.bins)
        if found.sha256 == origin.sha256:
            return found
    where = " and ".join(f"'{folder}'" for folder in folders)
    what = f"'{there[0]}' is another file" if there else f"it is not in {where}"
    raise CatalogError(
        f"the catalogue {origin.source} with SHA-256 {origin.sha256} is needed, but {what}. Give it: {option} FILE."
    )


def found_beside(labels: Labels, path: Path) -> Catalog | None:
    """Return the catalogue of labels, if they say which it is and :func:`look_for` finds it."""
    with suppress(CatalogError):
        return look_for(labels.of, path, "--catalog")
    return None


def load_folder(folder: Path, files: ModelFiles) -> Any:
    """Load a model of any kind; `files` are those of :func:`read_folder`. TensorFlow starts if the model needs it."""
    try:
        light = in_numpy(Settings.from_json(files.estimator))
    except (ValueError, TypeError, AttributeError):  # the model is damaged: load_model says how
        light = True
    if not light:
        load_tensorflow()
    return load_model(folder, files)


def read_folder(folder: Path, kind: str) -> ModelFiles:
    """Return the content of a folder with a model of a kind, without starting TensorFlow."""
    files = read_model_folder(folder)
    if files.kind != kind:
        trained_on, use = {
            ROWS: ("rows", "'fermiclass classify-rows'"),
            CATALOGUE: ("a catalogue", "'fermiclass classify'"),
            ESTIMATOR: ("arrays", "fermiclass.load_model in Python"),
        }[files.kind]
        raise ModelFolderError(
            f"the model in '{folder}' was trained on {trained_on}: use {use}, or give another model."
        )
    return files


def stem_of(path: Path) -> str:
    """Return the name of a table without its endings; that of standard input is stdin."""
    path = Path("stdin") if str(path) == "-" else path
    bare = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return bare.stem if bare.suffix.lower() in _CATALOGUES else bare.name


def place_of_candidates(labels: Path) -> Path:
    """Return the file beside labels with all candidates of their sources."""
    stem = stem_of(labels)
    return labels.with_name(f"{stem}-counterparts{labels.name.removeprefix(stem)}")


def candidates_beside(labels: Path, about: Labels) -> Table | None:
    """Return all candidates of labelled sources, which 'classify' wrote beside the labels; None where it did not."""
    path = place_of_candidates(labels)
    if COUNTERPARTS_KEY not in about.meta or not path.is_file():
        return None
    found, names = read_table(path), np.asarray(about.table["Source_Name"]).astype(str)
    if {"Source_Name", "CPT_R95"} <= {*found.colnames} and np.isin(found["Source_Name"], names).all():
        return found
    warnings.warn(
        f"'{path.name}' has the candidates of other labels: only the best of each source is shown", stacklevel=2
    )
    return None

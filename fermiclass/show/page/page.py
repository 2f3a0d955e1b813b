"""The page: all its parts together, with all text of the catalogue escaped."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from astropy.table import Table
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fermiclass._version import __version__
from fermiclass.analysis.facts import first_list_of, known_as
from fermiclass.analysis.followup import ADDED
from fermiclass.brought.sources import OWN_SOURCES, CatalogLike, catalog_of
from fermiclass.catalog import CLASS_TREE, Catalog
from fermiclass.catalog.source_names import gamma_ray_names
from fermiclass.io.files import check_place, write_bytes
from fermiclass.labelling.labels import CONFIDENT, Labels, labels_of, shown
from fermiclass.show.caveats import caveats, class_meanings, flag_summary, priors_summary, provenance
from fermiclass.show.page.features import feature_columns
from fermiclass.show.page.marks import BACKGROUNDS, Mark, class_marks
from fermiclass.show.page.metrics import Trust
from fermiclass.show.page.sources import (
    OTHER_NAMES,
    catalogue_rows,
    grid,
    saved_columns,
    source_columns,
    statuses_of,
    text_column,
)

if TYPE_CHECKING:
    from fermiclass.analysis.compare import Comparison

_LIBRARIES = ("echarts.common.min.js", "dataTables.min.js")
_SCRIPTS = (
    *("data", "state", "marks", "charts", "position", "filters", "save", "table", "sky", "details", "features"),
    *("profile", "trust", "wide", "main"),
)

check_page_place = partial(check_place, kind="a page", endings=(".html", ".htm"))


def write_report(
    labels: Table | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    catalog: CatalogLike | None = None,
    trained_on: CatalogLike | None = None,
    trust: Trust | None = None,
    since: Comparison | None = None,
    candidates: Table | None = None,
) -> None:
    """Write the page of :func:`report_page` to a file, whole or not at all.

    Raises OutputError when the file cannot be written, or its name does not end in .html.
    """
    target = check_page_place(path)
    parts: dict[str, Any] = {"catalog": catalog, "trained_on": trained_on, "since": since, "candidates": candidates}
    write_bytes(target, report_page(labels, trust=trust, **parts).encode("utf-8"))


def report_page(
    labels: Table | str | os.PathLike[str],
    *,
    catalog: CatalogLike | None = None,
    trained_on: CatalogLike | None = None,
    trust: Trust | None = None,
    since: Comparison | None = None,
    candidates: Table | None = None,
) -> str:
    """Return one self-contained HTML page of labelled sources, which needs no network.

    Its content security policy allows no loading, and no scripts except its own, which it names by their SHA-256. Text
    of a catalogue therefore always stays text.

    Parameters
    ----------
    labels
        A label table, as :func:`fermiclass.classify` returns it.
    catalog
        The catalogue that was labelled. It adds features with error bars.
    trained_on
        The training catalogue, if it is another one. Its sources of known class are shown among the features.
    trust
        Scores of an evaluation; see :func:`fermiclass.read_metrics`.
    since
        The comparison with earlier labels, whose changes are shown; see :func:`fermiclass.compare`.
    candidates
        All candidate counterparts of the sources: :func:`fermiclass.counterpart_table`.

    Raises
    ------
    CatalogError
        When `labels` is not a label table, or a catalogue is not the one that was labelled or learned from.
    FeatureError
        When the catalogue lacks a feature of the labels.
    """
    labels = labels_of(labels)
    about = Labels(labels)
    catalog, trained_on = (None if each is None else catalog_of(each) for each in (catalog, trained_on))
    marks = class_marks(about.classes)
    first, settings = provenance(labels.meta)
    data = _data(about, catalog, trained_on, trust, candidates)
    style = _style(marks)
    ours = "\n".join(_text("assets", f"{name}.js") for name in _SCRIPTS)  # in a function: their names clash with none
    scripts = [*(_text("vendor", name) for name in _LIBRARIES), f'(() => {{\n"use strict";\n{ours}}})();\n']
    environment = Environment(
        loader=PackageLoader("fermiclass.show.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = {"known": lambda value: "–" if value is None else value}
    environment.filters |= {"count": lambda n: f"{n:,}", "shown": shown, **known}
    return environment.get_template("page.html.j2").render(
        policy=_policy(scripts, style),
        # Only these parts are not escaped: they are ours and the libraries', never the catalogue's.
        style=Markup(style),  # noqa: S704
        scripts=[Markup(script) for script in scripts],  # noqa: S704
        json=htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":")),
        backgrounds=BACKGROUNDS,
        version=__version__,
        catalog_name=_catalog_name(labels),
        labels=about,
        data=data,
        marks=marks,
        caveats=caveats(about),
        statuses=statuses_of(data["sources"]),
        wanted=[about.classes[c] for c in data["wanted"]],
        confident=CONFIDENT,
        meanings=class_meanings(about),
        priors=priors_summary(labels.meta),
        provenance=first,
        settings=settings,
        trust=trust,
        since=since,
    )


def _data(
    about: Labels, catalog: Catalog | None, trained_on: Catalog | None, trust: Trust | None, candidates: Table | None
) -> dict[str, Any]:
    if catalog is not None and "sha256" in about.meta:
        about.of.check(catalog.origin, f"'{about.source}'")
    if trained_on is not None:
        about.trained_on.check(trained_on.origin, f"'{about.source}'")
    sources = source_columns(about, candidates)  # checks the columns that the rest relies on
    labels, features, saved, classes = about.table, None, saved_columns(about), about.classes
    if catalog is not None:
        features = feature_columns(about, catalog, trained_on)
        names = gamma_ray_names(catalog)
        sources["others"] = [names[row] for row in catalogue_rows(labels, catalog)]
        saved.insert(1, text_column("OTHER_NAMES", "others", OTHER_NAMES, "meta.id.cross"))
    for column, key, texts in (("FIRST_LIST", "since", first_list_of(labels)), ("KNOWN", "known", known_as(labels))):
        sources[key] = texts.tolist()
        saved.append(text_column(column, key, *ADDED[column]))
    groups = [{"name": top, "classes": [classes.index(c) for c in inside]} for top, inside in about.groups.items()]
    return {
        "classes": [asdict(mark) for mark in class_marks(classes)],
        "groups": groups,
        "flags": flag_summary(about),
        "wanted": [c for c, name in enumerate(classes) if name in CLASS_TREE["pulsar"]],
        "saved": saved,
        "origin": {str(key): str(value) for key, value in labels.meta.items()},
        "file": f"{_catalog_name(labels)}-selection",
        "sources": sources,
        "sky": grid(),
        "features": features,
        "reliability": trust.reliability if trust is not None else None,
        "chance": 1 / len(trust.classes) if trust is not None else None,
    }


def _catalog_name(labels: Table) -> str:
    release = str(labels.meta.get("release", ""))
    if release in ("", "unknown", OWN_SOURCES.name):
        return str(labels.meta.get("catalog") or "an unnamed catalogue")
    return release


def _text(folder: str, name: str) -> str:
    return files("fermiclass.show.page").joinpath(folder, name).read_text(encoding="utf-8")


def _style(marks: Sequence[Mark]) -> str:
    """Return the style sheet with the colours of the classes, which have numbers and not names there."""

    def variables(ground: str) -> str:
        return " ".join(f"--class-{c}: {getattr(mark, ground)};" for c, mark in enumerate(marks))

    rules = "\n".join(f".mark-{c} {{ fill: var(--class-{c}); }}" for c in range(len(marks)))
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {variables('dark')} }} }}"
    return f"{_text('assets', 'page.css')}\n:root {{ {variables('light')} }}\n{dark}\n{rules}\n"


def _policy(scripts: list[str], style: str) -> str:
    def source(text: str) -> str:
        # The browser normalises line ends before it computes the hash.
        digest = hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

    allowed = " ".join(source(text) for text in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {source(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )

"""The page: its parts put together, everything from the catalogue escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermiclass._version import __version__
from fermiclass.errors import OutputError
from fermiclass.files import check_place, write_whole
from fermiclass.label_counts import CONFIDENT
from fermiclass.labels import classes_of
from fermiclass.report.headline import class_summary, flag_summary, provenance, shares_summary
from fermiclass.report.marks import BACKGROUNDS, Mark, class_marks
from fermiclass.report.sky import grid
from fermiclass.report.sources import source_columns

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.catalog import Catalog
    from fermiclass.report.metrics import Trust

_ENDINGS = (".html", ".htm")
_LIBRARIES = ("echarts.common.min.js", "dataTables.min.js")
_SCRIPTS = ("data", "state", "marks", "charts", "table", "sky", "details", "features", "profile", "trust", "main")


def check_page_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check, as :func:`fermiclass.files.check_place`, that a page can be written at `path`, and its ending."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise OutputError(f"'{path}' does not end in {' or '.join(_ENDINGS)}, as a page does. Rename the output.")
    return check_place(path, *inputs)


def write_report(
    labels: Table,
    path: str | os.PathLike[str],
    *,
    catalog: Catalog | None = None,
    trust: Trust | None = None,
) -> None:
    """Write the page of :func:`report_page` to a file, whole or not at all.

    Raises
    ------
    OutputError
        When the file cannot be written, or its name does not end in .html.
    CatalogError, FeatureError
        As :func:`report_page`.
    """
    target = check_page_place(path)
    write_whole(target, report_page(labels, catalog=catalog, trust=trust).encode("utf-8"))


def report_page(labels: Table, *, catalog: Catalog | None = None, trust: Trust | None = None) -> str:
    """Return one self-contained HTML page of labelled sources, which needs no network.

    Its content security policy lets it load nothing and run nothing but its own scripts, which are named by their
    SHA-256: whatever a catalogue holds, it stays text.

    Parameters
    ----------
    labels
        A label table, as :func:`fermiclass.classify` returns it.
    catalog
        The catalogue that was labelled: adds features with error bars, fluxes and error ellipses.
    trust
        What was measured; see :func:`fermiclass.report.read_metrics`.

    Raises
    ------
    CatalogError
        When it is no label table, or the catalogue is not that of the labels.
    FeatureError
        When the catalogue lacks a feature of the labels.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    classes = classes_of(labels)
    marks = class_marks(classes)
    first, settings = provenance(labels.meta)
    data = _data(labels, catalog, trust)
    style = _style(marks)
    scripts = [*(_text("vendor", name) for name in _LIBRARIES), _script()]
    environment = Environment(
        loader=PackageLoader("fermiclass.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": lambda n: f"{n:,}", "known": lambda value: "–" if value is None else value}
    return environment.get_template("page.html.j2").render(
        policy=_policy(scripts, style),
        # Ours and the libraries', not the catalogue's: the only parts that are not escaped.
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        data=htmlsafe_json_dumps(data, dumps=_dumps),
        backgrounds=BACKGROUNDS,
        version=__version__,
        catalog_name=_catalog_name(labels),
        classes=classes,
        marks=marks,
        num_sources=len(labels),
        num_flagged=int(sum(1 for flags in data["sources"]["flags"] if flags)),
        confident=CONFIDENT,
        summary=class_summary(labels),
        flags=flag_summary(labels),
        shares=shares_summary(labels.meta),
        provenance=first,
        settings=settings,
        columns=[(name, labels[name].description) for name in labels.colnames if labels[name].description],
        features=data["features"],
        trust=trust,
    )


def _data(labels: Table, catalog: Catalog | None, trust: Trust | None) -> dict[str, Any]:
    if catalog is not None and "sha256" in labels.meta:
        from fermiclass.retraining import check_sha256

        check_sha256(catalog, str(labels.meta.get("catalog")), str(labels.meta["sha256"]))
    sources = source_columns(labels, catalog)  # it checks the columns that all others rely on
    features = None
    if catalog is not None:
        from fermiclass.report.features import feature_columns

        features = feature_columns(labels, catalog)
    return {
        "classes": [asdict(mark) for mark in class_marks(classes_of(labels))],
        "flags": {str(row["bit"]): row["meaning"] for row in flag_summary(labels)},
        "sources": sources,
        "sky": grid(),
        "features": features,
        "reliability": trust.reliability if trust is not None else None,
        "chance": 1 / len(trust.classes) if trust is not None else None,
    }


def _catalog_name(labels: Table) -> str:
    release = str(labels.meta.get("release", ""))
    return release if release not in ("", "unknown") else str(labels.meta.get("catalog") or "an unnamed catalogue")


def _dumps(content: Any, **options: Any) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":"), **options)


def _text(folder: str, name: str) -> str:
    return files("fermiclass.report").joinpath(folder, name).read_text(encoding="utf-8")


def _script() -> str:
    """Join our scripts into one function, so that they share names with nobody else."""
    parts = "\n".join(_text("assets", f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _style(marks: Sequence[Mark]) -> str:
    """Return the style sheet with the colours of the classes: ours, under numbers and not names."""

    def variables(ground: str) -> str:
        return " ".join(f"--class-{c}: {getattr(mark, ground)};" for c, mark in enumerate(marks))

    rules = "\n".join(f".mark-{c} {{ fill: var(--class-{c}); }}" for c in range(len(marks)))
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {variables('dark')} }} }}"
    return f"{_text('assets', 'page.css')}\n:root {{ {variables('light')} }}\n{dark}\n{rules}\n"


def _policy(scripts: list[str], style: str) -> str:
    def source(text: str) -> str:
        # As the browser sees it: line ends are normalised before it computes the hash.
        digest = hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

    allowed = " ".join(source(text) for text in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {source(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )

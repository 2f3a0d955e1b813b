"""Everything that is made of the package: labels of DR4, the text about them, notebooks, and the documentation site.

    python docs/build.py [names] [labels] [result] [report] [notebooks] [gallery] [site] [--output FOLDER]

All of them by default, in this order. It takes some minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent


def names() -> None:
    """Write the names of columns that are known into ``docs/own-sources.md``."""
    page = DOCS / "own-sources.md"
    page.write_text(with_names(page.read_text(encoding="utf-8")), encoding="utf-8")


def with_names(text: str) -> str:
    """Return a page with the rows of its table of names as the package knows them."""
    from fermiclass.brought.column_names import _DOUBTFUL, _ERROR_NAMES, _LIMIT_NAMES, NAMES, UNITS
    from fermiclass.catalog.plausibility import EXPECTED

    rows = []
    for name, usual in NAMES.items():
        others = [x for x in usual if x != name.lower() and "_UL" not in name]
        if others:
            stated = (f" ({UNITS[x]})" if x in UNITS else "\\*" * (x in _DOUBTFUL) for x in others)
            unit = f" {EXPECTED[name].unit}" if name in EXPECTED and EXPECTED[name].unit else ""
            shown = ", ".join(f"`{x}`{more}" for x, more in zip(others, stated, strict=True))
            rows.append(f"| `{name}` | {shown} |{unit} |\n")
    for what, forms in {"error of `x`": _ERROR_NAMES, "upper limit of `x`": _LIMIT_NAMES}.items():
        shown = ", ".join(f"`{form.format('x')}`" for form in forms)
        rows.append(f"| {what} | {shown} | that of `x` |\n")
    head = re.compile(r"(\| column \| other names \|.*\n\|[ |-]*\n)(?:\|.*\n)*")
    return head.sub(lambda found: found[1] + "".join(rows), text)


def labels() -> None:
    """Label 4FGL-DR4: ``catalogs/4FGL-DR4-labels.fits.gz``."""
    from make_result import write_labels

    write_labels()


def result() -> None:
    """Write ``docs/result.md`` and its figures."""
    from make_result import write_result

    write_result()


def report(output: Path = DOCS) -> None:
    """Write the labels' page, with a test of the labels of DR1: ``4FGL-DR4-labels.html`` in `output`."""
    from make_result import LABELS, REPOSITORY

    page = output.resolve() / "4FGL-DR4-labels.html"
    earlier, catalog = "catalogs/4FGL-DR1.fits.gz", "catalogs/4FGL-DR4.fits.gz"
    with tempfile.TemporaryDirectory() as folder:
        found = str(Path(folder) / "open.json")
        for command in (
            ["evaluate", earlier, "--open", catalog, "--json", found],
            ["report", LABELS, "--catalog", catalog, "--metrics", found, "-o", str(page)],
        ):
            subprocess.run([sys.executable, "-m", "fermiclass", *command], cwd=REPOSITORY, check=True)


def notebooks() -> None:
    """Execute the notebooks."""
    from make_notebooks import write_notebooks

    write_notebooks()


def gallery() -> None:
    """Draw the pictures of all plots, and take the notebooks' main ones from them."""
    from make_gallery import write_gallery

    write_gallery()


def site(output: Path = DOCS / "_build" / "html") -> None:
    """Build the documentation; a warning is an error."""
    options = ["-b", "html", "-W", "--keep-going", "-q", "-d", str(output.with_name("doctrees"))]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options, str(DOCS), str(output)], check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


ALL: tuple[Callable[..., None], ...] = (names, labels, result, report, notebooks, gallery, site)
STEPS = {step.__name__: step for step in ALL}
WITH_OUTPUT = ("report", "site")


def main() -> None:
    """Run the chosen steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", choices=[*STEPS, []], help=f"one of {', '.join(STEPS)}")
    parser.add_argument("--output", type=Path, help="folder of the site or of the report")
    arguments = parser.parse_args()
    for name, step in STEPS.items():
        if name in (arguments.steps or STEPS):
            print(f"== {name}", flush=True)
            if name in WITH_OUTPUT and arguments.output is not None:
                step(arguments.output)
            else:
                step()


if __name__ == "__main__":
    main()

"""The documentation site: Sphinx, MyST Markdown, and the notebooks with the outputs that are stored in them."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

from fermiclass import __version__

DOCS = Path(__file__).parent
REPOSITORY = DOCS.parent
#: Pages that are made of files elsewhere in the repository, which are not under version control here.
GENERATED = DOCS / "generated"

project = "fermiclass"
author = "The fermiclass developers"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "templates"]
html_theme = "furo"
html_title = "fermiclass"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
smartquotes = False  # '' is an empty class, no quotation mark
pygments_style = "friendly"
pygments_dark_style = "github-dark"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False

#: Files of the repository that are pages here, by the name of the page.
PAGES = {"catalogs": "catalogs/README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
#: Links of pages that are read in the repository too, and where they lead on the site.
LINKS = {
    up + path: page
    for up in ("](", "](../", "](../../")
    for path, page in {
        "README.md": "](/index.md",
        "CONTRIBUTING.md": "](/generated/contributing.md",
        "CHANGELOG.md": "](/generated/changelog.md",
        "notebooks/": "](/generated/",
        "catalogs/README.md": "](/generated/catalogs.md",
        "docs/": "](/",
    }.items()
}


def generate() -> None:
    """Write the pages that are made of other files: notebooks, texts of the repository, the modules of the core."""
    GENERATED.mkdir(exist_ok=True)
    for notebook in sorted((REPOSITORY / "notebooks").glob("*.ipynb")):
        shutil.copyfile(notebook, GENERATED / notebook.name)
    for name, path in PAGES.items():
        shutil.copyfile(REPOSITORY / path, GENERATED / f"{name}.md")
    (GENERATED / "core.md").write_text(core_modules(), encoding="utf-8")


def core_modules() -> str:
    """Return a table of the modules of ``fermiclass.nimgp`` by the first sentence of their docstrings."""
    core = REPOSITORY / "fermiclass" / "nimgp"
    lines = [
        "# The core, module by module",
        "",
        "`fermiclass.nimgp` imports nothing of astronomy. Input model, likelihood, kernel and noise are four",
        "independent choices, each a small class.",
        "",
        "| module | what it is |",
        "| --- | --- |",
    ]
    for path in sorted(core.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if docstring:
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            summary = " ".join(docstring.partition("\n\n")[0].split()).replace("|", "\\|").replace("``", "`")
            lines.append(f"| `{name}` | {summary} |")
    return "\n".join(lines) + "\n"


def rewrite_links(app: Any, name: str, source: list[str]) -> None:
    """Make links of Markdown pages lead to pages of the site."""
    if not name.startswith("generated/0"):  # notebooks are JSON, and link to nothing
        for link, here in LINKS.items():
            source[0] = source[0].replace(link, here)


def mathml(writer: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers read without any script."""
    from docutils import nodes
    from docutils.utils.math.latex2mathml import tex2mathml

    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    writer.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register what Sphinx does not have."""
    app.add_html_math_renderer("mathml", inline_renderers=(mathml, None), block_renderers=(mathml, None))
    app.connect("source-read", rewrite_links)


generate()

"""The notebooks: ``notebooks/source/*.py``, executed, become ``notebooks/*.ipynb``.

    python docs/build.py notebooks

The sources are scripts whose cells begin with ``# %%`` (Jupytext's percent format), so that they can be read, compared
and linted as code. What users get are the notebooks, with their outputs.
"""

from __future__ import annotations

import base64
import io
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

REPOSITORY = Path(__file__).parent.parent
NOTEBOOKS = REPOSITORY / "notebooks"
#: Of a stored notebook, in bytes.
LARGEST = 300_000
_SECONDS = 1800
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[Path]:
    """Return the sources in order."""
    return sorted((NOTEBOOKS / "source").glob("*.py"))


def stored(source: Path) -> Path:
    """Return where the notebook of a source is stored."""
    return NOTEBOOKS / f"{source.stem}.ipynb"


def convert(source: Path) -> NotebookNode:
    """Return the notebook of a source, without outputs; the same source gives the same notebook."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = NotebookNode(kernelspec=_KERNEL, language_info={"name": "python"})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = NotebookNode()
    return notebook


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook in a temporary folder beside the catalogues, as in ``notebooks/``, and return it with outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "catalogs").symlink_to(REPOSITORY / "catalogs")
        place = Path(folder) / "notebooks"
        place.mkdir()
        resources = {"metadata": {"path": str(place)}}
        NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata = NotebookNode()  # when it ran
        if cell.cell_type == "code":  # TensorFlow's remarks on the processor
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = fewer_colours(output.data["image/png"])
    return notebook


def fewer_colours(png: str) -> str:
    """Return a picture, base64, with a palette of 256 colours: a third of the size, and no difference to the eye."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        ground = Image.new("RGBA", picture.size, "white")
        ground.alpha_composite(picture.convert("RGBA"))
    stream = io.BytesIO()
    ground.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(stream, "png", optimize=True)
    return base64.b64encode(stream.getvalue()).decode("ascii")


def write_notebooks(names: list[str] | None = None) -> None:
    """Execute the sources, or those whose names begin with one of `names`, and store them.

    Raises
    ------
    SystemExit
        When a notebook is larger than `LARGEST`.
    """
    for source in sources():
        if names and not source.name.startswith(tuple(names)):
            continue
        text = nbformat.writes(execute(convert(source))) + "\n"
        if len(text) > LARGEST:
            raise SystemExit(f"{source.name} makes a notebook of {len(text)} bytes, above {LARGEST}: smaller pictures")
        stored(source).write_text(text, encoding="utf-8")
        print(f"{stored(source)}: {len(text) / 1000:.0f} kB", flush=True)

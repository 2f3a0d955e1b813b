"""The notebooks: as their sources, with outputs, and they run."""

import importlib.util

import nbformat
import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.notebooks

_SPEC = importlib.util.spec_from_file_location("make_notebooks", REPOSITORY / "docs" / "make_notebooks.py")
make_notebooks = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make_notebooks)

SOURCES = make_notebooks.sources()

#: What holds at the end of each notebook, whatever the last digits are.
CHECKS = {
    "01-label-dr4": "assert len(labels) == 4186 and len(targets) == 8 and Path('dr4-labels.vot').stat().st_size > 1e5",
    "02-error-bars": "assert P_nimgp.shape == (4186, 3) and 0.01 < shift.mean() < 0.1 and gain['mean'].iloc[0] < 0",
    "03-how-far-to-trust": "assert (len(opened), len(worst)) == (98, 6) and opened.table.nll.min() < 0.9",
    "04-your-own-classes": "assert evaluation.table.error.min() < 0.1 and len(best) == 8 and 'P_msp' in best.colnames",
    "05-not-astronomy": "assert scores.loc[10.0].idxmin() == 'NIMGP' and scores.loc[1.0].max() < 0.25",
    "06-gpflow": "assert 0 < np.mean(shift) < 0.05 and len(scales) == D and len(by_softmax) == len(named)",
    "07-own-sources": "assert len(few) == 40 and len(again) == len(labels) - 3 and moved[seen].mean() > moved.mean()",
}


@pytest.fixture(params=SOURCES, ids=[source.stem for source in SOURCES])
def source(request):
    return request.param


def test_stored_as_the_source(source):
    """To mend it: python docs/build.py notebooks."""
    stored = nbformat.read(make_notebooks.stored(source), as_version=4)
    nbformat.validate(stored)
    made = make_notebooks.convert(source)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [(c.cell_type, c.source) for c in made.cells]


def test_stored_with_light_outputs(source):
    path = make_notebooks.stored(source)
    assert path.stat().st_size <= make_notebooks.LARGEST
    outputs = [out for cell in nbformat.read(path, as_version=4).cells for out in cell.get("outputs", [])]
    assert sum("image/png" in out.get("data", {}) for out in outputs) >= 2
    assert not [out for out in outputs if out.output_type == "error" or out.get("name") == "stderr"]


def test_runs(source):
    notebook = make_notebooks.convert(source)
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS.get(source.stem, "")))
    done = make_notebooks.execute(notebook)
    assert done.cells[-1].execution_count == sum(cell.cell_type == "code" for cell in done.cells)

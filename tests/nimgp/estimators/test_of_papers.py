"""The methods of the papers by name: their settings, and the lines of the page that show them."""

import re

import numpy as np
import pytest

import fermiclass as fc
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "docs" / "other-data.md").read_text(encoding="utf-8").partition("## The methods of the papers")[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT.partition("\n## ")[0], flags=re.DOTALL | re.MULTILINE)
#: The names of a block's methods: that of its call, and those of the comment beside it.
METHODS = [(block, name) for block in BLOCKS for name in re.findall(r'"([a-z-]+)"', block.partition("\n")[0])]


@pytest.fixture
def rows():
    """What the page calls X, X_var and so on: three classes in two features."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["a", "b", "c"], 20))
    X = rng.normal(size=(60, 2)) + 3.0 * np.eye(3, 2)[np.unique(y, return_inverse=True)[1]]
    V = np.full_like(X, 0.1)
    new = {"X_new": X[40:], "X_new_var": V[40:], "X_pool": X[40:], "X_pool_var": V[40:], "y_pool": y[40:]}
    numbers = {"fc": fc, "np": np, "numbers": X[:40].sum(axis=1), "numbers_var": V[:40, 0]}
    return {"X": X[:40], "X_var": V[:40], "y": y[:40], **new, **numbers}


@pytest.mark.parametrize(("block", "name"), METHODS, ids=[name for _, name in METHODS])
def test_the_page_runs_with_each_method(rows, block, name):
    first, _, rest = block.partition("\n")
    call = re.sub(r'"[a-z-]+"', f'"{name}"', first.partition("  #")[0], count=1)
    y, y_new, X_new = rows["y"], rows["y_pool"], rows["X_new"]
    exec(f"{call}\n{rest}", rows)
    if "mean" in rows:
        np.testing.assert_allclose(rows["mean"], X_new.sum(axis=1), atol=1.0)
        assert np.all(rows["std"] > 0)
    else:
        np.testing.assert_allclose(rows["probabilities"].sum(axis=1), 1.0, rtol=1e-5)
        assert np.mean(np.unique(y)[rows["probabilities"].argmax(axis=1)] == y_new) > 0.7


def test_every_method_is_on_the_page():
    with pytest.raises(ValueError, match="name='magic' is not valid: expected mgp, ") as refused:
        fc.paper_method("magic")
    known = str(refused.value).partition("expected ")[2].replace(" or ", ", ").split(", ")
    assert set(known) == {name for _, name in METHODS}


def test_the_authors_mgp_has_another_floor():
    """0.001/C in place of 0.001/(C - 1) for a class that does not win, and 1 less all these for the one that does."""
    ours, text, other = (fc.paper_method(*of) for of in (("mgp", 6, 3), ("mgp", 6), ("nimgp", 6, 3)))
    assert ours.hyper["epsilon"] / 2 == pytest.approx(1e-3 / 3)
    assert text.hyper["epsilon"] == other.hyper["epsilon"] == 1e-3
    assert ours.hyper["lengthscale"] ** 2 == pytest.approx(np.sqrt(12))


def test_settings_change_single_options():
    made = fc.paper_method("nimgp-fo", 4, steps=9, hyper={"noise": 0.3})
    expected = fc.paper_method("nimgp-fo", 4).get_params()
    expected |= {"steps": 9, "epochs": None, "hyper": expected["hyper"] | {"noise": 0.3}}
    assert made.get_params() == expected

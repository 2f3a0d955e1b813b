"""The features of a real catalogue, written and read as rows."""

import numpy as np
import pytest

from fermiclass.catalog import THREE_CLASSES
from fermiclass.features import extract_features
from fermiclass.io.tables import write_table
from fermiclass.rows import open_rows, sample, shuffled_minibatches, summarise


@pytest.fixture(scope="module")
def features(dr4):
    return extract_features(dr4, "extended", THREE_CLASSES)


@pytest.fixture(params=[".parquet", ".fits"])
def rows(request, features, tmp_path):
    path = tmp_path / f"features{request.param}"
    write_table(features.to_table(), path)
    names = [feature.name for feature in features.features]
    noise = [f"Unc_{name}" for name in names]
    return open_rows(path, names, uncertainties=noise, label="CLASS", dtype=np.float64)


def test_rows_are_the_feature_table(rows, features):
    assert rows.num_rows == len(features) == 7195
    chunk = rows.read(0, 7195)
    np.testing.assert_array_equal(chunk.X, features.X)
    np.testing.assert_allclose(chunk.X_var, features.X_var, rtol=1e-15)
    assert chunk.y.tolist() == features.y.tolist()


def test_passes(rows, features):
    X = features.X[features.labelled]
    found = summarise(rows)
    assert found.num_labelled == len(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.std, X.std(axis=0), rtol=1e-12)
    assert dict(zip(found.classes, found.counts, strict=True)) == {
        name: np.sum(features.y == name) for name in ("bll", "fsrq", "psr")
    }
    drawn = sample(rows, 500, seed=0)
    np.testing.assert_allclose(drawn.X.mean(axis=0), found.mean, atol=5 * found.std.max() / np.sqrt(500))


def test_an_epoch(rows, features):
    X = features.X[features.labelled]
    count = len(X) // 200
    batches = shuffled_minibatches(rows, 200, seed=0, pool_rows=1000, chunk_rows=100)
    taken = np.concatenate([next(batches).X for _ in range(count)])
    batches.close()
    assert len(np.unique(taken, axis=0)) == count * 200
    assert {tuple(row) for row in taken} <= {tuple(row) for row in X}

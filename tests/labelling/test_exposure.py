"""Lists of another exposure: told by Signif_Avg at a given flux."""

import numpy as np
import pytest

from fermiclass import Catalog, Recipe, read_catalog, train
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.labelling.exposure import exposure_ratio, in_other_exposure
from tests.conftest import slim_path


@pytest.fixture(scope="module")
def model(dr4):
    return train(dr4, recipe=Recipe().with_settings(steps=5, num_inducing=10))


def with_significance(catalog, factor):
    table = catalog.table.copy()
    table["Signif_Avg"] = catalog.column("Signif_Avg") * factor
    return Catalog(table, catalog.release, catalog.source, catalog.sha256)


@pytest.mark.parametrize("name", ["4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4"])
def test_releases_of_like_exposure_are_as_they_were(model, name):
    assert exposure_ratio(model.domain, model.features, read_catalog(slim_path(name))) == 1.0


@pytest.mark.parametrize("factor", [0.2, 0.5, 2.0, 4.0])
def test_the_ratio_is_found_in_any_part_of_a_list(dr4, model, factor):
    far = with_significance(dr4[dr4.classes == ""], factor)
    for some in (far, far[::7], far[:40]):
        assert exposure_ratio(model.domain, model.features, some) == pytest.approx(factor, rel=0.25)


def test_few_ordinary_sources_tell_nothing(dr4, model):
    ratios = [exposure_ratio(model.domain, model.features, dr4[k : k + 2]) for k in range(0, 600, 2)]
    assert np.mean(np.array(ratios) != 1.0) < 0.03


def test_a_far_exposure_has_no_confident_label(dr4, model):
    some = dr4[dr4.classes == ""][:60]
    assert not np.any(np.asarray(model.label(some)["LABEL_FLAGS"]) & 16)
    with pytest.warns(CatalogWarning, match=r"Signif_Avg is low .* 0\.\d+ times"):
        labels = model.label(with_significance(some, 0.2))
    assert np.all(np.asarray(labels["LABEL_FLAGS"]) & 16)
    with pytest.warns(CatalogWarning, match="less certain than they seem"):
        assert not in_other_exposure(0.5, some)

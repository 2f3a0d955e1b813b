"""Lists of another exposure: told by Signif_Avg at a given flux."""

from dataclasses import replace

import numpy as np
import pytest

from fermiclass import Catalog, read_catalog
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.labelling.exposure import exposure_ratio, in_other_exposure
from tests.conftest import slim_path


def with_significance(catalog, factor):
    """The catalogue as a list of unknown exposure, with other significances."""
    table = catalog.table.copy()
    table["Signif_Avg"] = catalog.column("Signif_Avg") * factor
    return Catalog(table, replace(catalog.release, name="own", years=0), catalog.source, catalog.sha256)


@pytest.mark.parametrize("name", ["4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4"])
def test_releases_of_like_exposure_are_as_they_were(default_model, name):
    release = read_catalog(slim_path(name))
    for each in (release, with_significance(release, 1.0)):
        assert exposure_ratio(default_model.domain, default_model.features, each) == 1.0


def test_a_choice_from_a_list_is_no_other_exposure(dr4, default_model):
    latitude, longitude = np.abs(dr4.column("GLAT")), dr4.column("GLON")
    centre = (latitude < 2) & (np.minimum(longitude, 360 - longitude) < 5)
    index, curvature = dr4.column("PL_Index"), dr4.column("LP_SigCurv")
    none = dr4.classes == ""
    remnants = np.isin(dr4.classes, ["snr", "spp", "pwn"])
    places = (dr4.soft_galactic, latitude < 1, (latitude < 1) & none, latitude > 60, centre, remnants)
    for some in (*places, index < 1.8, index > 2.9, curvature > 5, dr4.column("Signif_Avg") > 50):
        assert exposure_ratio(default_model.domain, default_model.features, with_significance(dr4[some], 1.0)) == 1.0


@pytest.mark.parametrize("factor", [0.2, 0.5, 2.0, 4.0])
def test_the_ratio_is_found_in_any_part_of_a_list(dr4, default_model, factor):
    far = with_significance(dr4[dr4.classes == ""], factor)
    for some in (far, far[::7], far[:40]):
        assert exposure_ratio(default_model.domain, default_model.features, some) == pytest.approx(factor, rel=0.25)


def test_few_ordinary_sources_tell_nothing(dr4, default_model):
    own = with_significance(dr4, 1.0)
    ratios = [exposure_ratio(default_model.domain, default_model.features, own[k : k + 2]) for k in range(0, 600, 2)]
    assert np.mean(np.array(ratios) != 1.0) < 0.03


def test_a_far_exposure_has_no_confident_label(dr4, default_model):
    some = dr4[dr4.classes == ""][:60]
    assert not np.any(np.asarray(default_model.label(some)["LABEL_FLAGS"]) & 16)
    with pytest.warns(CatalogWarning, match=r"Signif_Avg is low .* 0\.\d+ times"):
        labels = default_model.label(with_significance(some, 0.2))
    assert np.all(np.asarray(labels["LABEL_FLAGS"]) & 16)
    with pytest.warns(CatalogWarning, match="less certain than they seem"):
        assert not in_other_exposure(0.5, some)

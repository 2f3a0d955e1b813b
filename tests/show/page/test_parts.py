"""The parts of the page: what each says of the sources, and what it refuses."""

import base64
import json

import numpy as np
import pytest
from astropy.units import Unit

from fermiclass.errors import CatalogError, ReportError
from fermiclass.io.fits_tables import from_fits, to_fits
from fermiclass.labelling.labels import LABEL_FLAGS, Labels
from fermiclass.plots.style import PALETTE
from fermiclass.show.caveats import FLAG_ADVICE, flag_summary, priors_summary, provenance
from fermiclass.show.page import read_metrics
from fermiclass.show.page.features import feature_columns, linear_codes, log_codes
from fermiclass.show.page.marks import BACKGROUNDS, class_marks, contrast
from fermiclass.show.page.sources import catalogue_rows, project, saved_columns, source_columns

from .conftest import CLASSES, EVALUATION, FEATURES, make_up_labels


def codes_of(coded):
    return np.frombuffer(base64.b64decode(coded["codes"]), "<u2").astype(float)


@pytest.mark.parametrize("code", [linear_codes, log_codes])
def test_codes_of_few_values(code):
    assert list(codes_of(code([np.nan, np.nan]))) == [65535, 65535]
    same = code([2.5, 2.5])
    assert same["low"] == pytest.approx(2.5)
    assert same["step"] == 0
    assert code([])["codes"] == ""


def test_contrast_is_that_of_the_guidelines():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the well-known grey that just fails 4.5


def test_marks_are_seen_and_told_apart():
    names = ["bll", "fsrq", "psr", "msp", "bcu", "agn", "other", "snr", "pwn"]
    marks = class_marks(names)
    assert len({mark.outline for mark in marks}) == len({mark.light for mark in marks}) == len(names)
    assert len(PALETTE) >= len(names)
    for ground, background in BACKGROUNDS.items():
        least = {"light": 3, "dark": 4.5}[ground]
        assert all(contrast(getattr(mark, ground), background) >= least for mark in marks)


def test_projection_is_aitoffs():
    lon, lat = np.array([0.0, 90.0, 270.0, 180.0, 0.0, 40.0]), np.array([0.0, 0.0, 0.0, 0.0, 90.0, -35.0])
    x, y = project(lon, lat).T
    np.testing.assert_allclose(x[:5], np.pi * np.array([0, -0.5, 0.5, 1, 0]), atol=1e-12)
    np.testing.assert_allclose(y[:5], np.pi * np.array([0, 0, 0, 0, 0.5]), atol=1e-12)
    lam, phi = np.radians([-40.0, -35.0])
    alpha = np.arccos(np.cos(phi) * np.cos(lam / 2))
    expected = (2 * np.cos(phi) * np.sin(lam / 2), np.sin(phi)) / np.sinc(alpha / np.pi)
    np.testing.assert_allclose((x[5], y[5]), expected)


def test_columns_are_those_of_the_labels(labels, targets):
    columns = source_columns(Labels(labels))
    assert columns["name"] == list(labels["Source_Name"])
    assert [CLASSES[c] for c in columns["predicted"]] == list(labels["PRED_CLASS"])
    np.testing.assert_allclose(columns["probability"][2], labels["P_psr"], atol=5.1e-5)
    np.testing.assert_allclose(columns["deviation"][0], labels["Unc_P_bll"], atol=5.1e-4)
    np.testing.assert_allclose(columns["sum"], [labels["P_bll"] + labels["P_fsrq"]], atol=5.1e-5)
    np.testing.assert_allclose(np.array(columns["flux"]), targets.table["Flux1000"], rtol=6e-3)
    assert columns["flags"] == list(labels["LABEL_FLAGS"])
    assert all(len(columns[name]) == len(labels) for name in columns if name not in ("probability", "deviation", "sum"))
    json.dumps(columns, allow_nan=False)


def test_what_is_not_known_is_none(targets):
    table = make_up_labels(targets[:5])
    table["GLON"][3] = np.nan
    assert source_columns(Labels(table))["x"][3] is None
    table.remove_columns(["Signif_Avg", "ASSOC1", "Flux1000"])
    fewer = source_columns(Labels(table))
    assert "significance" not in fewer
    assert "flux" not in fewer
    assert fewer["assoc1"] == [""] * 5


def test_what_is_saved(targets):
    """Every column that the page has, with unit, UCD and description of the label table."""
    table = make_up_labels(targets[:5])
    columns = {column["name"]: column for column in saved_columns(Labels(table))}
    assert set(columns) <= set(table.colnames)
    ellipse = {"Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng"}
    assert {"Source_Name", "STATUS", "P_psr", "Unc_P_psr", "Sum_P_agn", "LABEL_FLAGS", *ellipse} <= set(columns)
    assert columns["P_psr"]["key"] == ["probability", 2]
    assert columns["RAJ2000"]["unit"] == "deg"
    assert Unit(columns["Flux1000"]["unit"], format="vounit") == Unit("ph cm-2 s-1")
    assert all(column["ucd"] for column in columns.values())
    table.remove_column("Flux1000")
    assert "Flux1000" not in {column["name"] for column in saved_columns(Labels(table))}


def test_labels_of_something_else_are_refused(labels, targets, dr4):
    table = labels.copy()
    table.remove_column("ENTROPY")
    with pytest.raises(CatalogError, match="the label table has no column ENTROPY"):
        source_columns(Labels(table))
    table = make_up_labels(targets[:3])
    table["PRED_CLASS"] = ["bll", "gc", "psr"]
    with pytest.raises(CatalogError, match=r"PRED_CLASS has 'gc', but .* bll, fsrq, psr only"):
        source_columns(Labels(table))
    with pytest.raises(CatalogError, match=r"does not have the labelled source 4FGL .*\(--catalog\)"):
        catalogue_rows(labels, dr4[:20])


def test_sources_of_one_name_keep_their_order(targets):
    twins = targets[[4, 7, 9]]
    for names in (["a", "b", "a"], ["α", "β", "b"]):
        twins.table["Source_Name"] = names
        catalog = type(twins)(twins.table, twins.release, twins.source, twins.sha256)
        assert catalogue_rows(catalog.table, catalog) == [0, 1, 2]
        assert catalogue_rows(from_fits(to_fits(catalog.table)), catalog) == [0, 1, 2]


def test_features_are_those_of_the_settings(labels, dr4):
    from fermiclass import extract_features

    found = feature_columns(Labels(labels), dr4)
    names = FEATURES.split(",")
    assert found["names"] == names
    table = extract_features(dr4, names, ",".join(CLASSES))
    rows = catalogue_rows(labels, dr4)
    for j in range(len(names)):
        values, errors = found["values"][j], found["errors"][j]
        np.testing.assert_allclose(
            values["low"] + values["step"] * codes_of(values), table.X[rows, j], atol=0.51 * values["step"]
        )
        codes = codes_of(errors)
        sigma = np.where(codes == 0, 0.0, errors["low"] * np.exp(errors["step"] * (codes - 1)))
        np.testing.assert_allclose(sigma, np.sqrt(table.X_var[rows, j]), rtol=1e-3)
    known = np.isin(table.y, CLASSES)
    assert [CLASSES[c] for c in found["known"]["classes"]] == list(table.y[known])
    beta = names.index("LP_beta")
    np.testing.assert_allclose(
        found["ranges"][2][beta], np.percentile(table.X[table.y == "psr", beta], (16, 50, 84)), rtol=1e-4
    )
    flagged = {int(row) for row in found["imputed"]}
    assert flagged == set(np.flatnonzero(table.flags[rows]))
    json.dumps(found, allow_nan=False)


def test_features_without_any_source_of_known_class(targets):
    found = feature_columns(Labels(make_up_labels(targets[:30])), targets[:30])
    assert found["known"]["classes"] == []
    assert found["ranges"][0][0] == [None, None, None]
    assert None not in found["centre"]  # in units of these sources themselves
    json.dumps(found, allow_nan=False)


def test_features_of_another_training_catalogue(targets, dr4):
    """What is known is of that catalogue, and what is missing is filled in as there."""
    few = targets[:30]
    few.table.remove_column("Variability_Index")
    found = feature_columns(Labels(make_up_labels(few)), few, dr4)
    expected = feature_columns(Labels(make_up_labels(dr4)), dr4)
    for key in ("known", "ranges", "centre", "scale"):
        assert found[key] == expected[key]
    assert found["values"][-1]["low"] == pytest.approx(np.log(np.nanmedian(dr4.table["Variability_Index"])), rel=1e-4)


def test_labelled_sources_with_a_class_are_known_too(dr4):
    found, expected = (feature_columns(Labels(make_up_labels(of)), dr4) for of in (dr4, dr4[:1]))
    for key in ("known", "ranges", "centre", "scale"):
        assert found[key] == expected[key]
    assert len(found["known"]["classes"]) == 2630


def test_every_flag_is_explained(labels):
    assert set(FLAG_ADVICE) == set(LABEL_FLAGS)
    rows = flag_summary(Labels(labels))
    assert [row["n"] for row in rows] == [int(np.sum(labels["LABEL_FLAGS"] & bit > 0)) for bit in LABEL_FLAGS]


def test_provenance_leaves_nothing_out(labels):
    first, rest = provenance(labels.meta)
    assert ("SHA-256 of the catalogue", labels.meta["sha256"]) in first
    assert len(first) + len(rest) + 1 == len(labels.meta)  # priors are shown apart
    assert priors_summary(labels.meta) == [
        {"kind": "unassociated sources", "priors": {"bll": "0.3", "fsrq": "0.2", "psr": "0.5"}}
    ]


def written(tmp_path, content):
    path = tmp_path / "metrics.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


LABELS = {"method": "nimgp", "class_priors": "trained", "features": FEATURES, "classes": "bll,fsrq,psr"}


@pytest.mark.parametrize(
    ("meta", "method", "same"),
    [
        (LABELS, "nimgp", True),
        (LABELS | {"classes": "psr,BLL,fsrq", "temperature": "1.0", "likelihood": "softmax"}, "nimgp", True),
        (LABELS | {"class_priors": "selection"}, "nimgp@core", False),
        (LABELS | {"method": "mgp"}, "nimgp", False),
        (LABELS | {"features": "LP_Index,LP_beta"}, "nimgp", False),
        (LABELS | {"classes": "agn=bll+fsrq,psr"}, "nimgp", False),
        (LABELS | {"temperature": "folds"}, "nimgp", False),
        (LABELS | {"likelihood": "probit"}, "nimgp", False),
        ({}, "forest", False),
    ],
)
def test_the_method_of_the_labels_is_chosen(tmp_path, meta, method, same):
    trust = read_metrics(written(tmp_path, EVALUATION), meta)
    assert (trust.method, trust.same_method) == (method, same)


def test_an_evaluation_is_read_whole(tmp_path):
    content = json.loads(json.dumps(EVALUATION))
    content["methods"]["nimgp"]["unassociated"] = content["methods"]["forest"] | {"n": 7}
    trust = read_metrics(written(tmp_path, content), {"method": "nimgp", "class_priors": "trained"})
    assert {name: scores["n"] for name, scores in trust.scores.items()} == {"all": 100, "unassociated": 7}
    assert trust.confusion == [[40, 10, 0], [15, 15, 0], [1, 0, 19]]
    assert trust.reliability[0]["se"] == pytest.approx(np.sqrt(0.58 * 0.42 / 50))


NO_EVALUATIONS = {
    "no file": None,
    "no JSON": "{",
    "a list": "[]",
    "no methods": {"classes": ["a"], "methods": {}},
    "text for a number": {**EVALUATION, "methods": {"nimgp": {"nll": "x"}}},
    "no classes": {key: value for key, value in EVALUATION.items() if key != "classes"},
}


@pytest.mark.parametrize("content", NO_EVALUATIONS.values(), ids=NO_EVALUATIONS)
def test_what_is_no_evaluation_is_refused(tmp_path, content):
    with pytest.raises(ReportError, match=r"metrics\.json' is not an evaluation"):
        read_metrics(written(tmp_path, content), {})

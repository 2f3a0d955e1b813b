"""Tables of strangers, drawn from a grammar, have the features of the same table written plainly.

``pytest -n0 tests/robustness/test_strangers.py --hypothesis-profile=long`` draws for some ten minutes.
"""

import warnings

import astropy.units as u
import numpy as np
import pytest
from astropy.table import Table, vstack
from hypothesis import given
from hypothesis import strategies as st

from fermiclass import Recipe, extract_features, join, read_sources, train

FLUX, AREA = "ph cm-2 s-1", ("ph m-2 s-1", "ph cm-2 min-1")
#: Usual names, least and highest value, unit and other units of each quantity.
QUANTITIES = {
    "RAJ2000": (("RAJ2000", "ra", "RA_deg", "_RAJ2000"), 0.0, 359.0, "deg", ("rad", "arcmin")),
    "DEJ2000": (("DEJ2000", "dec", "Dec_J2000", "de"), -89.0, 89.0, "deg", ("rad", "arcsec")),
    "Signif_Avg": (("Signif_Avg", "significance", "sqrt_TS", "detection_significance"), 4.0, 50.0, "", ()),
    "Pivot_Energy": (("Pivot_Energy", "e_pivot", "Epivot"), 200.0, 2e4, "MeV", ("GeV", "keV", "erg")),
    "Flux1000": (("Flux1000", "flux_1_100_GeV"), 1e-11, 1e-8, FLUX, AREA),
    "Energy_Flux100": (("Energy_Flux100",), 1e-13, 1e-10, "erg cm-2 s-1", ("MeV cm-2 s-1", "W m-2")),
    "PL_Index": (("PL_Index", "powerlaw_index", "photon_index", "spectral_index", "gamma"), 1.2, 3.4, "", ()),
    "LP_Index": (("LP_Index", "alpha"), 1.2, 3.4, "", ()),
    "LP_beta": (("LP_beta", "Beta"), -0.1, 0.9, "", ()),
    "LP_SigCurv": (("LP_SigCurv", "sigcurv", "lp_curve_significance"), 0.5, 20.0, "", ()),
    "Frac_Variability": (("Frac_Variability",), 0.1, 2.0, "", ()),
    **{f"Flux_Band_{k}": ((f"Flux_Band_{k}",), 1e-13, 1e-8, FLUX, AREA) for k in range(1, 9)},
}
NEEDED = {"RAJ2000", "DEJ2000", "Flux1000"}
MEASURED = {name for name in QUANTITIES if name.startswith(("Flux", "Energy", "PL", "LP_I", "LP_b", "Frac"))}
LIMITED = {"Flux1000", "Energy_Flux100"}
FORMS = ("Unc_{}", "{}_err", "{}_error", "e_{}", "{}_unc", "sigma_{}")
SIDES = (("{}_pos", "{}_neg"), ("{}_errp", "{}_errn"), ("{}_err_pos", "{}_err_neg"))
BANDS = [f"Flux_Band_{k}" for k in range(1, 9)]
FORMATS = {"ecsv": "ascii.ecsv", "vot": "votable", "fits": "fits", "parquet": "parquet", "tbl": "ascii.ipac"}
TEXTS = ("csv", "tsv", "dat", "txt")


@st.composite
def strangers(draw):
    """Return a table as a stranger has it, the same written plainly, the names to say, and the ending of its file."""

    def one(items):
        return draw(st.sampled_from(items))

    rng, size, ending = np.random.default_rng(one(range(10**6))), one(range(1, 5)), one((*FORMATS, *TEXTS * 2))
    plain, strange, columns = Table(), Table(), {}
    flat = draw(st.booleans())  # errors of all bands as TOPCAT writes them: lower and upper
    chosen = sorted(draw(st.sets(st.sampled_from(sorted(QUANTITIES)))) | NEEDED | {*BANDS * flat})
    for name in draw(st.permutations(chosen)):
        usual, low, high, unit, others = QUANTITIES[name]
        own = one(usual[:2] if {"LP_beta", "LP_Index"} & {*chosen} else usual)
        other, gone = one((unit, *others)) if ending in FORMATS else unit, rng.random(size) < one((0.0, 0.5))
        if draw(st.booleans()) and not (flat and name in BANDS):
            columns[one((name, name.lower()))] = own = f"mine_{len(columns)}"
        values = np.where(gone & (name not in NEEDED), np.nan, rng.uniform(low, high, size))
        error = np.abs(values) * rng.uniform(0.05, 0.3, size)
        known, written = {name: values}, {own: values}
        if flat and name in BANDS:
            known[f"Unc_{name}"], k = error, 2 * int(name[-1])
            written |= {f"Unc_Flux_Band_{k - 1}": -0.5 * error, f"Unc_Flux_Band_{k}": error}
        elif name in MEASURED and draw(st.booleans()):
            known[f"Unc_{name}"], form = error, one((*((form,) for form in FORMS), *SIDES))
            parts = (1.2, -0.8) if form in SIDES else (1.0,)
            written |= {side.format(own): part * error for side, part in zip(form, parts, strict=True)}
        if name in LIMITED and draw(st.booleans()):
            limit = np.where(rng.random(size) < 0.5, rng.uniform(low, high, size), np.nan)
            known |= {name: np.where(np.isnan(limit), values, np.nan), f"{name}_UL": limit}
            written |= {own: known[name], one(("{}_ul", "{}_UL95", "ul_{}", "<")).format(own): limit}
        for standard, data in known.items():
            plain[standard] = u.Quantity(data, unit or None)
        flags = written.pop("<", np.full(size, np.nan))
        case = one((str, str.lower, str.upper)) if own not in columns.values() else str
        for given_name, data in written.items():
            strange[case(given_name)] = u.Quantity(data, unit or None).to(other) if unit else data
        if np.isfinite(flags).any():
            both, is_limit = strange[case(own)], np.isfinite(flags)
            both[is_limit] = u.Quantity(flags, unit).to(other)[is_limit].value
            if ending in TEXTS and draw(st.booleans()):
                strange[case(own)] = [
                    ("<" if j else "") + (repr(float(x)) if np.isfinite(x) else "")
                    for x, j in zip(both, is_limit, strict=True)
                ]
            else:
                strange[case(f"l_{own}")] = np.where(is_limit, "<", "")
    names = [f"{one(('a b', 'Src', 'PSR J0+1'))} {k}" for k in range(size)]
    plain["Source_Name"], strange[one(("Name", "source_name"))] = names, names
    return strange, plain, columns, ending


def as_text(draw, table):
    """Return a table as text of any separator, with gaps, marks, comments and decimal commas that may be."""
    separator = draw(st.sampled_from(",;\t|"))
    comma, gap = separator != "," and draw(st.booleans()), draw(st.sampled_from(["", "nan", "-999"]))
    rows = [list(table.colnames)]
    for row in table.iterrows():
        cells = [x if isinstance(x, str) else gap if np.isnan(x) else repr(float(x)) for x in row]
        rows.append([x if isinstance(x, str) and " " in x else x.replace(".", ",") if comma else x for x in cells])
    lines = [separator.join(cells) for cells in rows]
    lines = draw(st.sampled_from([[], ["# by somebody", "#"]])) + lines
    text = draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])))


def features_of(source, columns=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        catalog = read_sources(source, columns)
        table = extract_features(catalog, "galactic,RAJ2000,DEJ2000", unknown=True)
    return catalog.names.tolist(), table.X, table.X_var, table.imputed_value, table.upper


@given(strangers(), st.data())
def test_a_stranger_s_table_is_the_same_written_plainly(tmp_path, table, data):
    strange, plain, columns, ending = table
    path = tmp_path / f"mine.{ending}"
    if ending in FORMATS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strange.write(path, format=FORMATS[ending], overwrite=True)
    else:
        path.write_bytes(as_text(data.draw, strange))
    expected, found = features_of(plain), features_of(path, columns)
    assert found[0] == expected[0]
    for name, ours, theirs in zip(("X", "V", "imputed", "upper"), found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-9, err_msg=name)


@given(st.data())
def test_a_stranger_s_column_is_joined(few, data):
    """By any name of the sources or by place, in any order, with any form of errors and limits."""

    def one(items):
        return data.draw(st.sampled_from(items))

    rng, earlier = np.random.default_rng(one(range(10**6))), few.table["ASSOC_FGL"].astype(str)
    rows = rng.choice(np.flatnonzero(np.char.startswith(earlier, "3FGL")), 9, replace=False)
    value, limit = rng.lognormal(size=9), np.where(rng.random(9) < 0.4, rng.lognormal(size=9), np.nan)
    value[np.isfinite(limit)] = np.nan
    form = one((*((form,) for form in FORMS), *SIDES))
    columns = {each.format("XF"): 0.1 * part * value for each, part in zip(form, (1.2, -0.8)[: len(form)], strict=True)}
    columns |= {"l_XF": np.where(np.isfinite(limit), "<", ""), "XF": np.where(np.isfinite(limit), limit, value)}
    names = {
        "4FGL": {"name": few.names[rows]},
        "bare": {"Source": np.char.replace(few.names[rows], "4FGL ", "")},
        "3FGL": {"3FGL_Name": earlier[rows]},
        "place": {"_RA": few.column("RAJ2000")[rows], "_DE": few.column("DEJ2000")[rows]},
    }[one(("4FGL", "bare", "3FGL", "place"))]
    given_columns = data.draw(st.permutations([*(names | columns).items()]))
    with warnings.catch_warnings(action="ignore"):
        joined = join(few, Table(dict(given_columns))[rng.permutation(9)])
    error = 0.1 * value * (1.0 if form in SIDES else 1.2)
    for name, expected in {"XF": value, "XF_UL": limit, "Unc_XF": error}.items():
        there = np.full(len(few), np.nan)
        there[rows] = expected
        np.testing.assert_allclose(joined.column(name), there, rtol=1e-12, err_msg=name)


OWN = ("Source_Name", "RAJ2000", "DEJ2000", "Signif_Avg", "Flux1000", "Unc_Flux1000", "PL_Index", "Unc_PL_Index")
SHUFFLED = np.random.default_rng(3).permutation(40)


def rewritten(table, path):
    table.write(path, format="votable")
    return path


RELATIONS = {
    "permuted": lambda table, _: [table[SHUFFLED]],
    "in two parts": lambda table, _: [table[:13], table[13:]],
    "a part": lambda table, _: [table[::3]],
    "other units": lambda table, _: [Table({x: in_other_unit(table[x]) for x in OWN})],
    "another format": lambda table, folder: [rewritten(table, folder / "mine.vot")],
    "other names": lambda table, _: [
        Table([*table.columns.values()], names=[x.lower().replace("unc_", "e_") for x in OWN])
    ],
    "columns in another order, and others": lambda table, _: [
        Table({"note": ["x"] * 40, **{x: table[x] for x in OWN[::-1]}})
    ],
}


def in_other_unit(column):
    return u.Quantity(column).to("ph m-2 s-1") if column.unit and "ph" in str(column.unit) else column


@pytest.fixture(scope="module")
def own(few):
    model = train(few, recipe=Recipe().with_settings(steps=5, num_inducing=10))
    table = few.table[np.flatnonzero(few.classes == "")[:40]][list(OWN)]
    return model, table, labels_of(model, [table])


def labels_of(model, tables):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vstack([model.label(read_sources(table)) for table in tables], metadata_conflicts="silent")


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_table_in_another_form_has_the_same_labels(own, relation, tmp_path):
    """Own sources that lack most features; each label is that of the same source in the table as it was."""
    model, table, expected = own
    found = labels_of(model, RELATIONS[relation](table, tmp_path))
    rows = [expected["Source_Name"].tolist().index(name) for name in found["Source_Name"]]
    assert len(rows) == (14 if relation == "a part" else 40)
    for name in ("Sum_P_agn", "P_msp", "Unc_P_bll", "OOD_SCORE", "LABEL_FLAGS"):
        np.testing.assert_allclose(found[name], expected[name][rows], atol=2e-4, err_msg=name)

"""Tables of strangers, drawn from a grammar, have the features of the same table written plainly.

``pytest -n0 tests/robustness/test_strangers.py --hypothesis-profile=long`` draws for some ten minutes.
"""

import warnings

import astropy.units as u
import numpy as np
from astropy.table import Table
from hypothesis import given
from hypothesis import strategies as st

from fermiclass import extract_features, read_sources

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
FORMS = ("Unc_{}", "{}_err", "{}_error", "e_{}", "{}_unc", "sigma_{}")
FORMATS = {"ecsv": "ascii.ecsv", "vot": "votable", "fits": "fits", "parquet": "parquet", "tbl": "ascii.ipac"}
TEXTS = ("csv", "tsv", "dat", "txt")


@st.composite
def strangers(draw):
    """Return a table as a stranger has it, the same written plainly, the names to say, and the ending of its file."""

    def one(items):
        return draw(st.sampled_from(items))

    rng, size, ending = np.random.default_rng(one(range(10**6))), one(range(1, 5)), one((*FORMATS, *TEXTS * 2))
    plain, strange, columns = Table(), Table(), {}
    chosen = sorted(draw(st.sets(st.sampled_from(sorted(QUANTITIES)))) | NEEDED)
    for name in draw(st.permutations(chosen)):
        usual, low, high, unit, others = QUANTITIES[name]
        own = one(usual[:2] if {"LP_beta", "LP_Index"} & {*chosen} else usual)
        other, gone = one((unit, *others)) if ending in FORMATS else unit, rng.random(size) < one((0.0, 0.5))
        if draw(st.booleans()):
            columns[one((name, name.lower()))] = own = f"mine_{len(columns)}"
        values = np.where(gone & (name not in NEEDED), np.nan, rng.uniform(low, high, size))
        both = {name: (own, values)}
        if name in MEASURED and draw(st.booleans()):
            both[f"Unc_{name}"] = (one(FORMS).format(own), np.abs(values) * rng.uniform(0.05, 0.3, size))
        for standard, (given_name, data) in both.items():
            plain[standard] = u.Quantity(data, unit or None)
            case = one((str, str.lower, str.upper)) if given_name not in columns.values() else str
            strange[case(given_name)] = u.Quantity(data, unit or None).to(other) if unit else data
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

"""Recompute what `classify`, `evaluate`, `compare` and `outliers` print, from the tables that they write.

    python docs/development/figures_again.py 4FGL-DR1.fits 4FGL-DR4.fits FOLDER

The commands run in FOLDER, on the first release; the second one is the truth. All figures are computed a second time
with astropy, NumPy and SciPy alone, and have to be the same to the last printed digit. What is drawn at random (the
standard error of the NLL, the calibration error by chance) is left out.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.table import Table
from scipy.optimize import minimize
from scipy.stats import rankdata

GROUPS = {"agn": ("bll", "fsrq"), "psr": ("psr", "msp"), "other": ("other",)}
LIMIT = 10.0  # degrees from the plane
AGN = ("bll", "fsrq", "bcu", "rdg", "agn", "nlsy1", "css", "ssrq", "sey", "sbg", "gal")
SETS = {
    **dict.fromkeys(AGN, ("agn",)),
    **dict.fromkeys(("psr", "msp"), ("psr",)),
    **dict.fromkeys(("bin", "lmb", "glc", "spp"), ("psr", "other")),
    **dict.fromkeys(("pwn", "snr", "hmb", "nov", "sfr", "gc"), ("other",)),
}
#: Readings of the later classes: the groups that a source with each code may be of. What has no entry says nothing.
READINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "all": SETS,
    "face": {code: groups if len(groups) == 1 else ("other",) for code, groups in SETS.items()},
    "unambiguous": {code: groups for code, groups in SETS.items() if len(groups) == 1},
}
WORDS = {"bll": ("bll",), "fsrq": ("fsrq",), "bcu": ("bll", "fsrq"), "psr": ("psr", "msp"), "msp": ("psr", "msp")}


def run(folder, *arguments):
    """Run a command, and return the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "fermiclass", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, arguments
    return " ".join(re.sub("[,;:()]", "", done.stdout).split())


def same(what, again, figure, digits=3):
    """Print a figure beside its recomputation, and leave when they differ."""
    texts = [f"{value:.{digits}f}" if value is not None else "none" for value in (again, figure)]
    print(f"{what:50} {texts[0]:>10} {texts[1]:>10}")
    assert texts[0] == texts[1], what


def printed(what, words, text):
    """Print a line of a table as it was recomputed, and leave when the command printed another."""
    print(f"{what:50} {words}")
    assert f" {words} " in f" {text} ", f"{what}: not among what was printed: {text}"


def texts(table, name):
    """Return a column of texts without blanks."""
    return np.char.strip(np.ma.filled(table[name], "").astype(str))


def sky(table):
    """Return the positions."""
    return SkyCoord(np.asarray(table["RAJ2000"], float) * u.deg, np.asarray(table["DEJ2000"], float) * u.deg)


def one_to_one(first, second, radius):
    """Return for each of the first the nearest of the second within a radius, deg; -1 where another one is nearer."""
    nearest, distance, _ = first.match_to_catalog_sky(second)
    found = np.full(len(first), -1)
    for k in np.argsort(distance.deg, kind="stable"):
        if distance[k].deg < radius and nearest[k] not in found:
            found[k] = nearest[k]
    return found


def average_precision(positive, score):
    """Return Σ precision · Δrecall over the thresholds, with ties at once."""
    order = np.argsort(-score, kind="stable")
    hits, last = np.cumsum(positive[order]), np.r_[np.flatnonzero(np.diff(score[order])), len(score) - 1]
    return np.sum(hits[last] / (last + 1) * np.diff(np.r_[0, hits[last]])) / hits[-1]


def after_best_priors(p, truth):
    """Return the sum of −ln P(true) after the offsets of ln P that make it least."""

    def loss(offsets):
        q = p * np.exp(np.r_[0.0, offsets])
        return -np.sum(np.log((q * truth).sum(axis=1) / q.sum(axis=1)))

    return minimize(loss, np.zeros(p.shape[1] - 1)).fun


def calibration_error(p, right):
    """Return Σ n_b/n |accuracy − confidence| over tenths of the confidence."""
    confidence = p.max(axis=1)
    bins = np.searchsorted(np.unique(np.quantile(confidence, np.arange(1, 10) / 10)), confidence)
    return sum(abs(np.sum((right - confidence)[bins == b])) for b in range(10)) / len(p)


def evaluate(labels, earlier, later, result):
    """Recompute `evaluate --open`: sources without an association, judged by their later class."""
    found = one_to_one(sky(earlier), sky(later), 0.15)
    later_code = np.where(found < 0, "", np.char.lower(texts(later, "CLASS1"))[found])
    code = dict(zip(texts(earlier, "Source_Name"), later_code, strict=True))
    labels = labels[texts(labels, "STATUS") == "unassociated"]
    codes = np.array([code[name] for name in texts(labels, "Source_Name")])
    low = np.abs(labels["GLAT"]) < LIMIT
    members = [[f"P_{name}" for name in names if f"P_{name}" in labels.colnames] for names in GROUPS.values()]
    everything = np.stack([sum(labels[name] for name in names) for names in members], axis=1)
    everything = np.clip(everything, 1e-4, 1.0)
    everything /= everything.sum(axis=1, keepdims=True)
    for reading, sets in READINGS.items():
        figures = result if reading == "all" else result[reading]
        inside = np.isin(codes, list(sets)) | ~np.isin(codes, list(SETS))
        known = np.isin(codes, list(sets))
        p, truth = everything[known], np.array([np.isin(list(GROUPS), sets[c]) for c in codes[known]])
        right = truth[np.arange(len(p)), p.argmax(axis=1)]
        of_truth, best = (p * truth).sum(axis=1), [after_best_priors(p[s], truth[s]) for s in (low[known], ~low[known])]
        for what, again in {
            "n": len(p),
            "nll": -np.log(of_truth).mean(),
            "nll_after_best_priors": sum(best) / len(p),
            "error": 1.0 - right.mean(),
            "brier": np.mean((1.0 - of_truth) ** 2 + ((p * ~truth) ** 2).sum(axis=1)),
            "ece": calibration_error(p, right),
        }.items():
            same(f"evaluate, {reading}: {what}", again, figures[what])
        single, said = truth.sum(axis=1) == 1, p.argmax(axis=1)
        for c, name in enumerate(GROUPS):
            is_one = truth[:, c] & single
            positive = known.copy()
            positive[known] = is_one
            for what, again in {
                "n": is_one.sum(),
                "expected": p[:, c].sum(),
                "expected_se": np.sqrt(np.sum(p[:, c] * (1.0 - p[:, c]))),
                "precision": truth[said == c, c].mean(),
                "recall": np.mean(said[is_one] == c),
                "average_precision": average_precision(positive[inside], everything[inside, c]),
            }.items():
                same(f"evaluate, {reading}, {name}: {what}", again, figures["per_class"][name][what])
    for row in result["candidates"]["psr"]:
        known = np.isin(codes, list(SETS))
        chosen = everything[known, 1] >= row["threshold"]
        may = np.array(["psr" in SETS[code] for code in codes[known]])
        sure = np.isin(codes[known], ("psr", "msp"))
        for what, again in {
            "n": chosen.sum(),
            "purity": may[chosen].mean(),
            "completeness": chosen[sure].mean(),
        }.items():
            same(f"evaluate, psr from {row['threshold']:g}: {what}", again, row[what])


def classify(labels, text):
    """Recompute the table of `classify`: most probable, confident and expected sources of each class, and the flags."""
    names = [name[2:] for name in labels.colnames if name.startswith("P_") and f"Unc_{name}" in labels.colnames]
    best, confident = texts(labels, "PRED_CLASS"), np.asarray(labels["P_MAX"]) >= 0.9
    for name in names:
        counts = (best == name).sum(), ((best == name) & confident).sum(), round(labels[f"P_{name}"].sum())
        printed(f"classify, {name}", f"{name} {counts[0]} {counts[1]} {counts[2]}", text)
    flagged = np.sum(np.asarray(labels["LABEL_FLAGS"]) > 0)
    printed("classify, flags", f"{flagged} of {len(labels)} sources are flagged", text)


def compare(labels, other, text):
    """Recompute `compare --truth` with a list of names, positions and classes."""
    rows = {name: k for k, name in enumerate(texts(labels, "Source_Name"))}
    mine = np.array([rows.get(name, -1) for name in texts(other, "Name")])
    by_name, where = mine >= 0, sky(other)
    nearest, distance, _ = where.match_to_catalog_sky(sky(labels))
    mine = np.where(by_name, mine, np.where(distance.deg <= 0.1, nearest, -1))
    apart = where.separation(sky(labels)[mine]).deg
    taken = {}
    for k in np.lexsort((apart, ~by_name)):
        if mine[k] >= 0 and mine[k] not in taken:
            taken[mine[k]] = k
    theirs = np.array(list(taken.values()))
    labels, said = labels[list(taken)], texts(other, "CLASS1")[theirs]
    printed("compare, matches", f"{len(theirs)} sources are in both lists {by_name[theirs].sum()} by name", text)
    news = ~((said == "bcu") & (texts(labels, "STATUS") == "bcu"))
    printed("compare, no news", f"{np.sum(~news)} bcu are left out", text)
    labels, said, P = labels[news], said[news], {}
    for word in np.unique(said):
        names = [name for name in WORDS[word] if f"P_{name}" in labels.colnames]
        P[word] = np.sum([labels[f"P_{name}"] for name in names], axis=0)
        is_word, right = said == word, np.isin(texts(labels, "PRED_CLASS"), names)
        line = f"{word} {is_word.sum()} {100 * right[is_word].mean():.0f} % {P[word][is_word].mean():.3f}"
        printed(f"compare, {word}", line, text)
    for word, others in {"bll": ("fsrq", "psr", "msp"), "psr": ("bll", "fsrq", "bcu"), "bcu": ("psr", "msp")}.items():
        is_one = np.isin(said, [name for name in P if set(WORDS[name]) <= set(WORDS[word])])
        score = P[word][is_one | np.isin(said, others)]
        positive = is_one[is_one | np.isin(said, others)]
        ranks, n, m = rankdata(score)[positive].sum(), positive.sum(), (~positive).sum()
        area = (ranks - n * (n + 1) / 2) / (n * m)  # Mann & Whitney (1947)
        names = [name for name in WORDS[word] if f"P_{name}" in labels.colnames]
        printed(f"compare, ROC of {word}", f"{' or '.join(names)} {n} {m} {area:.3f}", text)


def outliers(found, text):
    """Recompute `outliers`: sums and order, and ρ, which is the same for all sources of a fold, from P and P_WRONG."""
    wrong = np.asarray(found["P_WRONG"])
    assert np.all(np.diff(wrong) <= 0.0)
    printed("outliers, expected", f"The expected number of wrong classes is {wrong.sum():.0f}", text)
    printed("outliers, above 0.5", f"{np.sum(wrong > 0.5)} classes are wrong with a probability above", text)
    names = [name for name in found.colnames if name.startswith("P_") and f"Unc_{name}" in found.colnames]
    p = np.array([row[f"P_{row['CLASS'].strip()}"] for row in found])
    sure = (p > 0.05) & (p < 0.95)
    p, w, C = p[sure], wrong[sure], len(names)
    rho = np.unique(np.round(w * p / ((1.0 - p - w) / C + w * p), 7))
    same("outliers, number of ρ", len(rho), int(found.meta["FOLDS"]), 0)
    same("outliers, mean of ρ", rho.mean(), float(found.meta["RHO"]), 6)


def main():
    """Run the commands, and recompute their figures."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    first, second, folder = (Path(given).resolve() for given in sys.argv[1:])
    earlier, later = (Table.read(path, hdu=1) for path in (first, second))
    told = run(folder, "classify", first, "-o", "labels.fits")
    labels = Table.read(folder / "labels.fits")
    classify(labels, told)
    run(folder, "evaluate", first, "--open", second, "--json", "open.json")
    [result] = json.loads((folder / "open.json").read_text())["methods"].values()
    evaluate(labels, earlier, later, result)
    code = np.char.lower(texts(later, "CLASS1"))
    other = Table(
        {"Name": texts(later, "Source_Name"), "CLASS1": code, **{k: later[k] for k in ("RAJ2000", "DEJ2000")}}
    )
    other = other[np.isin(code, list(WORDS))]
    other.write(folder / "other.ecsv", overwrite=True)
    compare(labels, other, run(folder, "compare", "labels.fits", "other.ecsv", "--truth"))
    told = run(folder, "outliers", first, "-o", "outliers.fits")
    outliers(Table.read(folder / "outliers.fits"), told)


if __name__ == "__main__":
    main()

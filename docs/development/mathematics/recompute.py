"""Compute labels of 4FGL-DR4 again by the formulas of mathematics.md, without fermiclass.

    python docs/development/mathematics/recompute.py MODEL 4FGL-DR4.fits.gz LABELS.fits

MODEL is the folder of `fermiclass train` on 4FGL-DR4, LABELS the table of `classify --model MODEL`, both by default
settings. The largest difference of each column is printed; the exit status is 1 if one is not below 1e-5.
"""

import json
import sys
from pathlib import Path

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.table import Table
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import softmax, xlogy

PACKAGE = Path(__file__).parents[3] / "fermiclass"  # four files of data are there
KINDS = {
    "agn": ["bll", "fsrq", "bcu", "rdg", "agn", "nlsy1", "css", "ssrq", "sey", "sbg", "gal"],
    "pulsar": ["psr", "msp"],
    "other": ["other", "spp", "bin", "lmb", "glc", "pwn", "snr", "hmb", "nov", "sfr", "gc"],
}
EDGES = np.array([50.0, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5])  # of seven bands, in MeV


def column(name):
    """Return a column of the sources: text in lower case, or numbers, NaN where there is none."""
    if sources[name].dtype.kind == "S":
        return np.char.lower(np.ma.filled(sources[name].astype(str), ""))
    values: np.ndarray = np.ma.filled(np.ma.array(sources[name], dtype=float), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def feature(name):
    """Return a feature of the sources, and its error to first order."""
    form, _, of = name.partition("_") if name.startswith(("ln_", "asinh_", "HR_")) else ("", "", name)
    if form == "HR":  # of nu F_nu; a limit has no lower error, and stands for any flux from 0 to it
        flux, (low, high) = column("Flux_Band")[:, :7], column("Unc_Flux_Band")[:, :7].transpose(2, 0, 1)
        is_limit, limit = np.isnan(low) & (high > 0), np.maximum(flux, 0) + 2 * high
        flux, error = np.where(is_limit, [limit / 2, limit / np.sqrt(12)], [flux, (np.abs(low) + high) / 2])
        pair, weight = [int(k) - 1 for k in of], EDGES[:-1] * EDGES[1:] / np.diff(EDGES)
        (a, b), (of_a, of_b) = (flux * weight).T[pair], (error * weight).T[pair]
        return (b - a) / (a + b), 2 * np.hypot(b * of_a, a * of_b) / (a + b) ** 2
    if name == "BIT6":
        return column("Flags") // 32 % 2, 0 * column("Flags")
    if name == "HIID":
        regions = Table.read(PACKAGE / "catalog" / "hii_regions.csv")
        places = np.radians([column("GLON"), column("GLAT")]), np.radians([regions["glon"], regions["glat"]])
        here, there = (np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)]).T for a, b in places)
        distance = 2 * np.arcsin(cdist(here, there) / 2) / np.radians(regions["radius"] / 3600)
        return np.log(np.clip(distance.min(axis=1), 0.3, 30)), 0 * column("GLAT")
    q = np.where((column(of) > 0) | (form != "ln"), column(of), np.nan)
    error = column(f"Unc_{of}") if f"Unc_{of}" in sources.colnames else 0 * q
    error = np.where((of == "Frac_Variability") & (error >= 9.99), np.nan, error)  # this means "unconstrained"
    g = {"ln": np.log, "asinh": np.arcsinh, "": np.array}[form]
    return g(np.abs(q) / 3 if of == "GLAT" else q), error / q if form == "ln" else error


def average(x, v, m):
    """Return weights, features and variances of the mixture for a source whose features m are unknown."""
    if not m.any():
        return np.ones(1), x[None], v[None]
    W, x_k = domain["covariance"] / 2, domain["X"][(domain["X"][:, m] != medians[m]).all(axis=1)]
    A, offset = W[np.ix_(~m, ~m)] + np.diag(v[~m]), x[~m] - x_k[:, ~m]
    distance, slope = np.sum(offset * solve(A, offset.T).T, axis=1), solve(A, W[np.ix_(~m, m)])
    nearest = np.argsort(distance)[:32]
    X, V = np.tile(x, (len(nearest), 1)), np.tile(v, (len(nearest), 1))
    X[:, m] = x_k[nearest][:, m] + offset[nearest] @ slope
    V[:, m] = np.diag(W)[m] - np.sum(slope * W[np.ix_(~m, m)], axis=0)
    return softmax(-distance[nearest] / 2), X, V


def latent(X, V, Z, q_mu, q_sqrt, white, ell, se, linear):
    """Return mean and variance of a latent function at standardised features and variances."""
    K, k = (se * np.exp(-(cdist(Z / ell, each / ell) ** 2) / 2) for each in (Z, X))
    K = K + linear * Z @ Z.T + white * np.eye(len(Z))
    L = cholesky(K + w["posterior.jitter"] * np.mean(np.diag(K)) * np.eye(len(Z)), lower=True)
    A, alpha = solve_triangular(L, k + linear * Z @ X.T, lower=True), solve_triangular(L.T, q_mu)
    gradient = ((k.T * alpha) @ Z - X * (k.T @ alpha)[:, None]) / ell**2 + linear * alpha @ Z
    s = se + linear * np.sum(X**2, axis=1) + white + np.sum((np.tril(q_sqrt).T @ A) ** 2 - A**2, axis=0)
    return A.T @ q_mu, s + np.sum(gradient**2 * V, axis=1)


config, arrays = json.loads(Path(sys.argv[1], "config.json").read_text()), np.load(Path(sys.argv[1], "weights.npz"))
w, domain = ({key.partition("/")[2]: arrays[key] for key in arrays if key[0] == room} for room in "wd")
model, classes, k = config["model"], config["classes"], config["neighbours"]
labels, sources = Table.read(sys.argv[3]), Table.read(sys.argv[2], hdu=1)
sources = sources[np.isin(sources["Source_Name"], labels["Source_Name"])]
code, S, N = column("CLASS1"), column("Signif_Avg"), len(domain["X"])

# Factors of class priors, CLASS2 and claimed blazars
lost = dict(Table.read(PACKAGE / "catalog" / "second_associations.csv")["Source_Name", "CLASS2"].iterrows())
of_dr3 = [lost.get(name, "") for name in sources["Source_Name"].astype(str)]
second = np.where((column("CLASS2") == "") & (column("ASSOC_PROB_BAY") > 0), of_dr3, column("CLASS2"))
prior = model["selection"]
r = (1 + np.exp(prior["intercept"] + prior["gradient"] * feature("asinh_GLAT")[0])) / prior["norm"]
r *= (S / prior["reference"]) ** prior["slope"]
rho = {kind: np.where(np.isin(classes, members), 6, 1) for kind, members in KINDS.items()}
of_bare = 1 - sum(b * rho[kind] for kind, b in model["second"].items())
of_bare = np.select([np.isin(second, codes)[:, None] for codes in KINDS.values()], list(rho.values()), of_bare)
blazars = Table.read(PACKAGE / "labelling" / "claimed_blazars.csv")
pairs = (column("RAJ2000"), column("DEJ2000")), (blazars["ra"], blazars["dec"])
here, there = (SkyCoord(*pair, unit="deg") for pair in pairs)
j, i, distance, _ = here.search_around_sky(there, 3 * u.deg)
turn = here[i].position_angle(there[j]).rad - np.radians(column("Conf_95_PosAng")[i])
a, b = (column(f"Conf_95_Semi{axis}") for axis in ("Major", "Minor"))
chi2 = 2 * np.log(20) * distance.deg**2 * ((np.cos(turn) / a[i]) ** 2 + (np.sin(turn) / b[i]) ** 2)
excess = np.exp(-chi2 / 2) * np.log(20) / (np.pi * (a * b)[i]) / (len(blazars) * np.pi / 129600)
excess = np.bincount(i, np.where(chi2 <= 2 * np.log(1000), excess, 0), minlength=len(sources))
claim = np.where(a > 0, np.minimum(1 + model["claims"] * (excess - 1), 50), 1)
of_bare = of_bare * np.where(rho["agn"] > 1, (r * claim)[:, None], 1)
of_bcu = [{"bll": 1, "fsrq": 0.5}.get(name, 0.02) for name in classes]
factors = np.where((code == "")[:, None], of_bare, np.where((code == "bcu")[:, None], of_bcu, 1))

# Features and variances without gaps, what is unknown, and moments of the latent functions
rules, table = model["imputation"]["features"], []
ln_s = np.nan_to_num(np.log(S), nan=model["imputation"]["ln_significance"])
for rule in rules:
    x, error = feature(rule["name"])
    unknown = ~((x >= rule["low"]) & (x <= rule["high"]))
    x = np.where(unknown, rule["median"], x)
    fit = rule["intercept"] + rule["significance_slope"] * ln_s + rule["value_slope"] * x
    least = np.exp(np.minimum(fit, rule["ln_sigma_max"])) / 10
    known = (error > 0) & ((error > least) | (least <= np.sqrt(rule["variance"]) / 100))
    error = np.where(known, error, np.exp(np.clip(fit, rule["ln_sigma_min"], rule["ln_sigma_max"])))
    table.append((x, np.where(unknown, rule["variance"], error**2 * rule["measured"]), unknown))
medians = np.array([rule["median"] for rule in rules])
weights, X, V = zip(*(average(x, v, m > 0) for x, v, m in np.transpose(table, (2, 1, 0))), strict=True)
inputs = np.clip((np.vstack(X) - w["mean"]) / w["scale"], -4, 4), np.vstack(V) / w["scale"] ** 2
names = ["posterior.Z", "posterior.q_mu", "posterior.q_sqrt", "kernel.white"]
names += [f"kernel.kernels[{name}" for name in ("0].lengthscales", "0].variance", "1].variance")]
f = np.transpose([latent(*inputs, *of_class) for of_class in zip(*(w[name] for name in names), strict=True)])

# Probabilities, entropies and OOD_SCORE, source by source
rows, ends = [], np.cumsum([len(each) for each in weights])[:-1]
for p, x, v, moments, r in zip(weights, X, V, np.split(f, ends), factors, strict=True):
    pi = softmax(moments[:, :1] + np.sqrt(moments[:, 1:]) * w["points"], axis=2)  # (K, 1024, C)
    Z = pi @ r
    rho, total = pi * r / Z[..., None], Z.mean(axis=1)
    P_k, share = np.mean(pi * r, axis=1) / total[:, None], p * total / (p @ total)
    information = share @ (np.mean(Z * xlogy(rho, rho).sum(axis=2), axis=1) / total - xlogy(P_k, P_k).sum(axis=1))
    mean = p @ x
    L = cholesky(domain["covariance"] + np.diag(p @ (v + (x - mean) ** 2)), lower=True)
    d = np.sort(np.linalg.norm(solve_triangular(L, (mean - domain["X"]).T, lower=True), axis=0))
    score = np.interp(d[k - (d[0] >= 1e-4)] * (1 - 1e-5), domain["depths"], np.arange(N) / N, right=1)
    rows.append([*(share @ P_k), -xlogy(share @ P_k, share @ P_k).sum(), information, score])
names = [*(f"P_{name}" for name in classes), "ENTROPY", "INFORMATION", "OOD_SCORE"]
found = dict(zip(names, np.transpose(rows), strict=True))
found["BF_CLAIM"] = np.where(code == "", claim, 1)
found |= {"Sum_P_agn": found["P_bll"] + found["P_fsrq"], "Sum_P_pulsar": found["P_psr"] + found["P_msp"]}

# LASTS
lasting = json.loads((PACKAGE / "labelling" / "lasting.json").read_text())["FL16Y"]["full"]
x = {"Signif_Avg^-2": np.maximum(S, 3.5) ** -2, "unassociated": code == "", "untyped": np.isin(code, ["bcu", "unk"])}
x |= {f"Flags_{bit}": column("Flags").astype(int) >> bit - 1 & 1 for bit in range(1, 16)}
x |= {f"4FGL-DR{n}": 0 * S for n in (1, 2, 3)}
x |= {name: feature(name)[0] for name in lasting["inputs"] if name not in x}
z = {n: np.nan_to_num((np.clip(x[n], a, b) - mean) / s) for n, (a, b, mean, s) in lasting["inputs"].items()}
names = ["LP_Index", "ln_Flux1000", "ln_Variability_Index", "4FGL-DR1", "4FGL-DR2", "4FGL-DR3"]
products = [np.clip(z["Signif_Avg^-2"] * z[name], -5, 5) for name in names]
i, j = (column("RAJ2000") // 15).astype(int), ((column("DEJ2000") + 90) // 15).astype(int)
part = np.where((i + j) % 2 == 0, (i + 5 * j) // 2 % 5, 5)
eta = np.array(lasting["coefficients"])[part] * np.transpose([np.ones(len(S)), *z.values(), *products])
found["LASTS"] = np.minimum(1 / (1 + np.exp(-eta.sum(axis=1))), 0.998)
differences = {name: np.max(np.abs(values - labels[name])) for name, values in found.items()}
print("\n".join(f"{name:12} {difference:.1e}" for name, difference in differences.items()))
sys.exit(not max(differences.values()) < 1e-5)

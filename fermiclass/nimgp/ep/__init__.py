"""Robust multi-class Gaussian process classification by expectation propagation (EP), with whole covariance matrices.

RMGPC (Hernández-Lobato, Hernández-Lobato & Dupont 2011) knows that a label may be wrong, wherever its row lies; SMGPC
is the same without wrong labels and with latent noise. In NumPy and SciPy, double precision, ``O(C N³)``.

``kernel`` has the covariances, ``sites`` what stands in for the factors of the likelihood, and ``posterior`` what
follows from both. ``factors`` matches the moments of one factor at a time, ``cavities`` of all, ``inference`` until
nothing changes. ``evidence`` is the marginal likelihood of the fixed point, which ``training`` maximises;
``prediction`` is for new rows.
"""

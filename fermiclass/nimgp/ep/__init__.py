"""Robust multi-class Gaussian process classification by expectation propagation (EP), with full covariance matrices.

RMGPC (Hernández-Lobato, Hernández-Lobato & Dupont 2011) allows for wrong labels anywhere. SMGPC is the same model
without wrong labels and with latent noise. Both use NumPy and SciPy in double precision; their cost is ``O(C N³)``.

``kernel`` has the covariances, ``sites`` the approximate factors of the likelihood, and ``posterior`` the product of
both. ``factors`` matches the moments of one factor at a time, ``cavities`` those of all factors, and ``inference``
repeats this until a fixed point. ``evidence`` is the marginal likelihood there, which ``training`` maximises.
``prediction`` predicts new rows.
"""

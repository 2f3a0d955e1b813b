"""Robust multi-class Gaussian process classification by expectation propagation (EP), with full covariance matrices.

RMGPC (Hernández-Lobato, Hernández-Lobato & Dupont 2011) allows for wrong labels anywhere. SMGPC is the same model
without wrong labels and with latent noise. Both use NumPy and SciPy in double precision; their cost is ``O(C N³)``.

``factors`` has the labels, the approximate factors of the likelihood, and matches the moments of one at a time.
``posterior`` is the product of these factors and the prior, and predicts new rows. ``inference`` matches all factors
until a fixed point. ``evidence`` is the marginal likelihood there, and maximises it.
"""

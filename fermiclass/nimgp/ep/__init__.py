"""Robust multi-class Gaussian process classification by expectation propagation (EP), with full covariance matrices.

RMGPC (Hernández-Lobato, Hernández-Lobato & Dupont 2011) allows for wrong labels anywhere. SMGPC is the same model
without wrong labels and with latent noise. Double precision; the cost is ``O(C N³)``.
"""

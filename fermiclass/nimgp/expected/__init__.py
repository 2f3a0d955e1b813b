"""Gaussian processes with expected covariances, for regression on inputs that are known up to a Gaussian.

After Dallaire, Besse & Chaib-draa (2011), "An approximate inference with Gaussian process to latent functions from
uncertain data", Neurocomputing 74.
"""

"""Covariance functions, batched over the latent functions."""

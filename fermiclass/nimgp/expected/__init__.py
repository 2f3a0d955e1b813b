"""Gaussian process regression on inputs that have Gaussian distributions, by expected covariances.

See Dallaire, Besse & Chaib-draa (2011), "An approximate inference with Gaussian process to latent functions from
uncertain data", Neurocomputing 74.
"""

from __future__ import annotations

#: Names of the expected kernels. ``plain-se`` is the squared exponential of the means alone. ``+`` joins several.
KERNELS = ("se", "linear", "quadratic", "plain-se")

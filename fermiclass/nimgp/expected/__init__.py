"""Gaussian process regression on Gaussian inputs, by expected covariances (Dallaire, Besse & Chaib-draa 2011)."""

#: Names of the expected kernels. ``plain-se`` is the squared exponential of the means alone. ``+`` joins several.
KERNELS = ("se", "linear", "quadratic", "plain-se")

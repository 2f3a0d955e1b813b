"""Noiseless inputs: input models q(x), priors p(x), and noise variances V."""

"""Likelihoods p(y | f) of class labels and of outputs."""

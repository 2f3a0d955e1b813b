"""Predictive distributions of class labels and of outputs."""

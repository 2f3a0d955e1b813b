"""Gaussian processes whose inputs are noisy: classification and regression, without astronomy.

``estimators`` has the scikit-learn interface. The sparse variational model is in ``model``, with its parts in
``kernels``, ``likelihoods``, ``inputs`` and ``posterior``; ``training`` and ``prediction`` use it. ``ep`` has
classification that is robust to wrong labels, by expectation propagation. ``expected`` has exact regression with
expected covariances. ``domain`` has the out-of-distribution score. This package imports nothing else of fermiclass.
"""

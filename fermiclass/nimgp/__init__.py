"""The generic core: sparse multi-class Gaussian processes whose inputs have known noise variances.

It knows nothing of astronomy and imports nothing else of fermiclass.
"""

"""The generic core: sparse multi-class Gaussian processes whose inputs have known noise variances.

``ep`` has some that are robust to wrong labels. The core knows nothing of astronomy and imports nothing else of
fermiclass.
"""

"""Scales of latent functions: how large they are, and how fast they vary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scales:
    """Scales of latent functions. The defaults suit log odds.

    Attributes
    ----------
    variance, initial_variance
        Median of the prior of σ², and initial σ².
    lengthscale_over_root_d, width
        Median of the prior of the length-scales divided by √D, and standard deviation of their logarithms.
    """

    variance: float = 10.0
    initial_variance: float = 5.0
    lengthscale_over_root_d: float = 3.0
    width: float = 0.5

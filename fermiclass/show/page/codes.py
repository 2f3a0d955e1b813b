"""Compact numbers for the page: 16 bits each, in base64.

Decimal text of the features and error bars of all sources would take twice the space.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Codes from 0 to this are values. The next code stands for a missing value.
TOP = 65534
MISSING = TOP + 1


def linear_codes(values: ArrayLike) -> dict[str, Any]:
    """Return ``{"low", "step", "codes"}``: low + step·code is a value to within step/2; NaN and ±∞ are missing."""
    x = np.asarray(values, np.float64)
    known = np.isfinite(x)
    low, high = (float(x[known].min()), float(x[known].max())) if known.any() else (0.0, 0.0)
    step = (high - low) / TOP
    codes = np.full(x.shape, MISSING)
    codes[known] = np.rint((x[known] - low) / step) if step else 0
    return {"low": low, "step": step, "codes": _base64(codes)}


def log_codes(values: ArrayLike) -> dict[str, Any]:
    """Return ``{"low", "step", "codes"}``: code 0 is 0, others are low·exp(step·(code − 1)); negative is missing."""
    x = np.asarray(values, np.float64)
    positive = np.isfinite(x) & (x > 0)
    logs = np.log(x[positive])
    low, high = (float(logs.min()), float(logs.max())) if len(logs) else (0.0, 0.0)
    step = (high - low) / (TOP - 1)
    codes = np.where(x == 0, 0, MISSING)
    codes[positive] = 1 + (np.rint((logs - low) / step) if step else 0)
    return {"low": float(np.exp(low)), "step": step, "codes": _base64(codes)}


def _base64(codes: ArrayLike) -> str:
    return base64.b64encode(np.asarray(codes).astype("<u2").tobytes()).decode("ascii")

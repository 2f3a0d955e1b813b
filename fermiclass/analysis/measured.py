"""Values with their errors, as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fermiclass.analysis.explain import Explanation

#: Stands behind a value that is imputed, or has an imputed error.
IMPUTED_MARK = "*"


def measured(value: float, error: float, gap: str = "") -> str:
    """Return a value with its error, both rounded to the first digit of the error, to two digits if that is 1 or 2.

    A value without error has four digits. The `gap` stands before the sign ±; a narrow column may break the line there.
    """
    if not error > 0 or not math.isfinite(error):
        text = f"{value:.4g}"
    else:
        exponent = math.floor(math.log10(error))
        digits = max(0, (1 if error < 3 * 10.0**exponent else 0) - exponent)
        if abs(value) >= 10 and digits == 4:
            digits = 3  # a narrow column
        text = (
            f"{value:.{digits}f}{gap}±{error:.{digits}f}"
            if digits <= 5 and error < 1e4
            else f"{value:.3g}{gap}±{error:.1g}"
        )
    return text.replace("-", "−")


def measured_feature(explained: Explanation, j: int, gap: str = "") -> str:
    """Return a feature with its error, with a star if the value or the error is imputed."""
    mark = IMPUTED_MARK if explained.imputed_value[j] or explained.imputed_uncertainty[j] else ""
    return measured(explained.value[j], explained.error[j], gap) + mark

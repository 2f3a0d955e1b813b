"""Array types."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

"""Files: one reader and one writer for each format of tables, complete writing, columns of predictions, and SAMP."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

"""Files in the IDX format of MNIST (LeCun et al. 1998)."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import BenchmarkError
from fermiclass.io.inputs import check_regular

_BYTES = 0x08  # code of unsigned bytes, the only type in MNIST


def read_idx(path: Path, num_dimensions: int) -> NDArray[np.uint8]:
    """Read an array of bytes: 0, 0, type, number of dimensions, the dimensions (big-endian, 4 bytes each), the values.

    Parameters
    ----------
    path
        The file. It is compressed if its name ends in ``.gz``.
    num_dimensions
        Number of dimensions that the file must have.

    Raises
    ------
    BenchmarkError
        When the file cannot be read, is not of this kind, or has another length than its header states.
    """
    try:
        check_regular(path)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read()
    except (OSError, EOFError, ValueError) as error:
        raise BenchmarkError(f"'{path}' cannot be read ({error}). Download it again.") from error
    expected = bytes([0, 0, _BYTES, num_dimensions])
    if content[:4] != expected:
        raise BenchmarkError(
            f"'{path}' begins with the bytes {content[:4].hex(' ') or '(none)'}; an IDX file of bytes in "
            f"{num_dimensions} dimensions begins with {expected.hex(' ')}. Is it another file?"
        )
    start = 4 + 4 * num_dimensions
    shape = tuple(int.from_bytes(content[k : k + 4], "big") for k in range(4, start, 4))
    size = start + math.prod(shape)
    if len(content) != size:
        raise BenchmarkError(
            f"'{path}' has {len(content)} bytes, but its shape {shape} needs {size}. Download it again."
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)

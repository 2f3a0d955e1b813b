"""Safe reading of ``.npz`` files from any origin. No code in the file runs, and its arrays must fit its size."""

from __future__ import annotations

import io
import math
import zipfile

import numpy as np

_MOST_RATIO = 100  # largest size of the arrays relative to the file; more suggests a file made to fill memory
_SMALL = 64 << 20  # bytes below which any ratio is allowed
_MOST_ARRAYS = 10_000
_HEADER = 128  # smallest number of bytes before the values of an array


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file by name.

    Parameters
    ----------
    content
        The bytes of the file.

    Raises
    ------
    ValueError
        When the file is not an ``.npz`` file or is damaged. When the arrays are far larger than the file, hold Python
        objects, or do not have the shapes that their headers state. Nothing is unpacked before its size is known.
    """
    if not content.startswith(b"PK"):
        raise ValueError("it is no zip archive of arrays")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            names = {member.filename for member in members}
            if len(names) != len(members) or len(members) > _MOST_ARRAYS:
                raise ValueError(f"it has {len(members)} arrays: too many, or several of the same name")
            size = sum(member.file_size for member in members)
            if size > max(_SMALL, _MOST_RATIO * len(content)):
                raise ValueError(f"its arrays take {size:,} bytes, more than {_MOST_RATIO} times the size of the file")
            return {member.filename.removesuffix(".npy"): _read(archive, member) for member in members}
    except MemoryError:
        raise
    except Exception as error:  # zipfile and NumPy raise many unrelated exceptions
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from error


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    name = member.filename
    if not name.endswith(".npy"):
        raise ValueError(f"{name} is no array")
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in read_header:
            raise ValueError(f"{name} has the unknown format {version}")
        shape, _, dtype = read_header[version](stream)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects, which could run code")
        size = math.prod(shape) * dtype.itemsize
        if any(length < 0 for length in shape) or not size <= member.file_size <= size + 10 * _HEADER:
            raise ValueError(
                f"the header of {name} states {dtype} of shape {shape}, but the file has {member.file_size:,} bytes"
            )
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)

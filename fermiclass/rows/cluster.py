"""Connection to the scheduler of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fermiclass.errors import ClusterError

_CONNECT_SECONDS, _WORKER_SECONDS = 10, 30


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at ``address`` when it has a worker.

    Raises
    ------
    ClusterError
        When Dask is not installed, the scheduler cannot be reached or has no workers, or the workers die.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise ClusterError("--dask needs the package distributed: pip install 'fermiclass[dask]'") from error
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise ClusterError(
            f"there is no Dask scheduler at '{address}' ({error}). Start one with 'dask scheduler' and give the "
            "address that it prints."
        ) from error
    with client, client.as_current():
        try:
            client.wait_for_workers(1, timeout=_WORKER_SECONDS)
        except TimeoutError as error:
            raise ClusterError(
                f"the Dask scheduler at '{address}' has no workers. Start some with 'dask worker {address}'."
            ) from error
        try:
            yield client
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"workers of the Dask scheduler died ({error}). Most often they lack memory: give them more memory, or "
                "smaller blocks."
            ) from error

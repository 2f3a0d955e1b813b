"""Dask clusters that are there, and that are not."""

import sys
from types import SimpleNamespace

import pytest

from fermiclass.errors import ClusterError
from fermiclass.rows import labelling

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own


def test_without_workers(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(labelling, "_WORKER_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as empty,
        pytest.raises(ClusterError, match=r"has no workers\. Start some with 'dask worker"),
        labelling.connected(empty.scheduler_address),
    ):
        pass


def test_without_scheduler(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(labelling, "_CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler at 'tcp://127"),
        labelling.connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_workers_that_die():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, dashboard_address=None, host="127.0.0.1") as local,
        pytest.raises(ClusterError, match=r"workers of the Dask scheduler died \(.*smaller blocks"),
        labelling.connected(local.scheduler_address),
    ):
        raise distributed.KilledWorker("a task", SimpleNamespace(address="tcp://127.0.0.1:1"), 3)


def test_dask_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ClusterError, match=r"pip install 'fermiclass\[dask\]'"),
        labelling.connected("tcp://127.0.0.1:9"),
    ):
        pass

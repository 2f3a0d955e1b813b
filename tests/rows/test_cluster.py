"""Dask clusters that are there, and that are not."""

import os
import sys
import time
from types import SimpleNamespace

import pytest

from fermiclass.errors import ClusterError
from fermiclass.rows import predict

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own


def test_without_workers(monkeypatch):
    monkeypatch.setattr(predict, "_WORKER_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as empty,
        pytest.raises(ClusterError, match=r"has no workers\. Start some with 'dask worker"),
        predict.connected(empty.scheduler_address),
    ):
        pass


def test_without_scheduler(monkeypatch):
    monkeypatch.setattr(predict, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(ClusterError, match=r"no Dask scheduler at 'tcp://127"), predict.connected("tcp://127.0.0.1:9"):
        pass


def lose(lost, local, client):
    [model] = client.scatter(["a model"])
    waiting = client.submit(lambda _: time.sleep(0.5), model)
    if lost == "all workers":
        local.scale(0)
        local.sync(local._correct_state)
    else:
        local.close()
    waiting.result(timeout=30)


@pytest.mark.parametrize("lost", ["all workers", "the scheduler"])
def test_what_is_lost_while_it_labels(lost):
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as local,
        pytest.raises(ClusterError, match=r"lost its workers or its scheduler \(.*smaller blocks"),
        predict.connected(local.scheduler_address) as client,
    ):
        lose(lost, local, client)


def test_workers_get_the_settings_of_the_command_or_are_refused(monkeypatch):
    """Other settings give other last digits, and are settings no more when TensorFlow is there."""
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    plugin, worker = predict._settings_of_tensorflow(), SimpleNamespace(address="tcp://127.0.0.1:1")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "3")
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    with pytest.raises(ClusterError, match=r"other settings \(TF_ENABLE_ONEDNN_OPTS, TF_NUM_INTRAOP_THREADS\)"):
        plugin.setup(worker)
    monkeypatch.delitem(sys.modules, "tensorflow")
    plugin.setup(worker)
    assert os.environ["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert "TF_NUM_INTRAOP_THREADS" not in os.environ


def test_dask_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install '\.\[dask\]'"), predict.connected("tcp://127.0.0.1:9"):
        pass

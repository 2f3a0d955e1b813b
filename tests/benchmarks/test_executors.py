"""Processes that work for a benchmark; what they return is tested with the runner."""

import os
import signal
import subprocess
import sys
import time

SCRIPT = """
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

from fermiclass.benchmarks.executors import _start_worker

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_start_worker, initargs=(1, False)) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_do_not_outlive_who_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        assert is_running(worker)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 60
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    try:
        assert not is_running(worker)
    finally:
        if is_running(worker):
            os.kill(worker, signal.SIGKILL)

"""Kill commands at random moments, give them again, and compare what they write. It is not part of the tests.

    python fuzz/kill.py --moments 50 --seed 0

Each of the jobs is run once undisturbed, which tells how long it takes and what it writes. Then it is killed (SIGKILL)
at a random moment of that time, over and over, in a new folder each
time: the same command again must end with the files and bytes of the undisturbed run, and nothing else left behind.
Results of a benchmark are compared but for their times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CATALOG = Path(__file__).parent.parent / "catalogs" / "4FGL-DR4.fits.gz"
QUICK = ("--steps", "100", "--inducing", "20")
TIMES = {"seconds", "fit_seconds", "predict_seconds", "time", "date", "machine", "started", "load"}

JOBS = {
    "features": ("features", CATALOG, "-o", "features.fits"),
    "train": ("train", CATALOG, "-o", "model", *QUICK),
    "classify": ("classify", CATALOG, "-o", "labels.fits", *QUICK),
    "train-rows": (
        "train-rows",
        "../features.parquet",
        "-o",
        "model",
        "--checkpoint",
        "training.npz",
        "--steps",
        "400",
    ),
    "benchmark": ("benchmark", "toy", "--methods", "mgp", "--splits", "2", "--results", "results.jsonl"),
}


def command(job: str) -> list[str]:
    """Return the command of a job."""
    return [sys.executable, "-m", "fermiclass", *map(str, JOBS[job])]


def written(folder: Path) -> dict[str, str]:
    """Return a digest of each output but checkpoints; of results without times, each split once."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or name == "training.npz":
            continue
        content = path.read_bytes()
        if name.endswith(".jsonl"):
            lines = [json.loads(line) for line in content.splitlines()]
            kept = {json.dumps({k: v for k, v in line.items() if k not in TIMES}, sort_keys=True) for line in lines
                    if "benchmark" not in line}  # fmt: skip
            content = "\n".join(sorted(kept)).encode()
        digests[name] = hashlib.sha256(content).hexdigest()
    return digests


def main() -> None:
    """Run, kill, run again, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", default=",".join(JOBS))
    chosen = parser.parse_args()
    rng, jobs, bad = random.Random(chosen.seed), chosen.jobs.split(","), 0
    with tempfile.TemporaryDirectory() as home:
        features = (sys.executable, "-m", "fermiclass", "features", CATALOG, "-o", f"{home}/features.parquet")
        subprocess.run(list(map(str, features)), check=True, capture_output=True)
        expected, took = {}, {}
        for job in jobs:
            folder = Path(home, f"{job}-whole")
            folder.mkdir()
            start = time.monotonic()
            subprocess.run(command(job), cwd=folder, check=True, capture_output=True)
            expected[job], took[job] = written(folder), time.monotonic() - start
            print(f"{job}: {took[job]:.1f} s undisturbed, {len(expected[job])} files", flush=True)
        for moment in range(chosen.moments):
            job = jobs[moment % len(jobs)]
            folder = Path(home, f"{job}-{moment}")
            folder.mkdir()
            after = rng.uniform(0.0, took[job])
            process = subprocess.Popen(command(job), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
            again = subprocess.run(command(job), cwd=folder, capture_output=True, text=True)
            found = written(folder)
            good = again.returncode == 0 and found == expected[job]
            bad += not good
            print(
                f"{moment} {job} killed after {after:.1f} s, left {left}: {'same bytes' if good else 'DIFFERS'}",
                flush=True,
            )
            if not good:
                print(again.stderr, {k for k in found.keys() | expected[job] if found.get(k) != expected[job].get(k)})
    print(f"{chosen.moments} moments, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()

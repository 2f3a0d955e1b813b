"""Cost of a fit against the number of rows, inducing points and classes, with the floating-point limit of the machine.

    python docs/development/training/cost.py cost.jsonl cost.png

Made-up rows of 17 features with error bars, the default settings for catalogues (`nimgp-fo`, steps of 512 rows). The
limit counts the multiplications and additions of a step that nothing avoids: three times (values, and gradients with
respect to both sides) the covariances ``2 C M B D``, the triangular solve ``C M² B``, the variance of q(u) ``C M² B``
and the Cholesky factor ``C M³ / 3``, at the rate at which two cores multiply matrices of 2048 rows in single precision.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1"}  # as the commands set them

import numpy as np
import tensorflow as tf

from fermiclass.labelling.recipe import Recipe
from fermiclass.labelling.training import estimator_of

D, B = 17, 512
INDUCING, CLASSES, ROWS = (30, 60, 100, 200, 300), (2, 4, 10, 26), (1_000, 10_000, 100_000, 1_000_000, 2_000_000)
SHORT, WHOLE, CALL = 100, 500, 20  # steps: to time a step, to time a fit, and between two reports of progress


def made_up(num_rows: int, num_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, X_var and y."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    X = rng.normal(size=(num_rows, D)) + rng.normal(size=(num_classes, D))[y]
    return X, np.full(X.shape, 0.1), y


def measured(num_rows: int, num_classes: int, num_inducing: int, steps: int) -> dict[str, float]:
    """Return the time of a whole fit, and the milliseconds of a step in the second half of the fit."""
    X, X_var, y = made_up(num_rows, num_classes)
    model = estimator_of(Recipe().with_settings(num_inducing=num_inducing, steps=steps, random_state=0))
    times: list[float] = []
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y, X_var=X_var, progress=lambda _: times.append(time.perf_counter()))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    ms = 1e3 * float(np.median(np.diff(times)[len(times) // 2 - 1 :])) / CALL
    return {"seconds": round(seconds, 2), "cpu": round(cpu, 2), "ms": round(ms, 3)}


def flop_rate() -> float:
    """Return operations per second of two matrix products at once, one for each core."""
    a, b = tf.random.normal((2, 2048, 2048))

    @tf.function
    def products() -> tuple[tf.Tensor, tf.Tensor]:
        return tf.matmul(a, b), tf.matmul(b, a)

    times = []
    for _ in range(10):
        start = time.perf_counter()
        products()[0].numpy()
        times.append(time.perf_counter() - start)
    return 2 * 2 * 2048**3 / float(np.median(times[1:]))


def limit_ms(num_classes: int, num_inducing: int, rate: float) -> float:
    """Return the milliseconds of a step at a rate of operations per second."""
    functions = 1 if num_classes == 2 else num_classes
    M = num_inducing
    return 1e3 * 3 * functions * (2 * M * B * D + 2 * M**2 * B + M**3 / 3) / rate


def measure(path: Path) -> None:
    """Append a line for each case that the file does not have."""
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(r["N"], r["C"], r["M"], r["steps"]) for r in kept}
    cases = [(10_000, C, M, SHORT) for C in CLASSES for M in INDUCING] + [(N, 4, 60, WHOLE) for N in ROWS]
    for N, C, M, steps in cases:
        if (N, C, M, steps) not in done:
            record = {"N": N, "C": C, "M": M, "steps": steps, "rate": flop_rate()} | measured(N, C, M, steps)
            with path.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)


def plot(path: Path, figure: str) -> None:
    """Draw milliseconds per step against M, and seconds of a fit against N."""
    import matplotlib.pyplot as plt

    records = [json.loads(line) for line in path.read_text().splitlines()]
    rate = float(np.median([r["rate"] for r in records]))
    _, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
    for k, C in enumerate(CLASSES):
        of_c = sorted((r["M"], r["ms"]) for r in records if r["C"] == C and r["steps"] == SHORT)
        M, ms = zip(*of_c, strict=True)
        left.plot(M, ms, "o-", color=f"C{k}", ms=4, label=f"{C} classes")
        left.plot(M, [limit_ms(C, m, rate) for m in M], "--", color=f"C{k}", lw=1)
    left.plot([], [], "--", color="0.4", lw=1, label=f"limit at {rate / 1e9:.0f} GFLOP/s")
    left.set(xscale="log", yscale="log", xlabel="inducing points M for each class", ylabel="training step / ms")
    left.set_xticks(INDUCING, [str(m) for m in INDUCING])
    left.minorticks_off()
    of_n = sorted((r["N"], r["seconds"], r["ms"] * WHOLE / 1e3) for r in records if r["steps"] == WHOLE)
    N, seconds, of_steps = zip(*of_n, strict=True)
    right.plot(N, seconds, "o-", ms=4, label="fit")
    right.plot(N, of_steps, "s:", ms=4, color="0.4", label="its steps")
    right.legend(frameon=False)
    right.set(xscale="log", xlabel="training rows N", ylabel="fit of 500 steps / s", yscale="log")
    for ax in (left, right):
        ax.grid(alpha=0.3)
    left.legend(frameon=False)
    plt.savefig(figure, dpi=150)


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
    plot(Path(sys.argv[1]), sys.argv[2])

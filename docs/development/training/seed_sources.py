"""Where the difference between two seeds comes from, and what makes it smaller: other minibatches and draws.

    python docs/development/training/seed_sources.py [VARIANT ...] [--seeds 4]
    python docs/development/training/seed_sources.py [VARIANT ...] [--seeds 4] --losses LATER.fits

A variant is one of `VARIANTS`, or several joined by "+". Each is fitted to 4FGL-DR4 with the seeds 0, 1, …; a line
has the root mean square and the largest difference of all P, and the largest of the expected numbers, as means over the
pairs of seeds, and in brackets the largest of all pairs. The processor time is that of a fit. With --losses a line has
the NLL for three groups of DR1 to DR4 in the open world of LATER (FL16Y, even cells) and that of ten folds of DR4, as
means over the seeds, and in brackets the standard deviation.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf

import fermiclass as fc
from fermiclass import evaluation
from fermiclass.labelling.training import train_checked
from fermiclass.nimgp.likelihoods import base
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.training import loop

RELEASES = ("DR1", "DR2", "DR3", "DR4")
_of_rows = loop.TrainingData.feed  # before any patch

Patch = Callable[[int], AbstractContextManager[object]]  # of a seed: a context in which it trains


def feed(number: Callable[[int], int]) -> Patch:
    """Return the patch that chooses minibatches by another seed."""
    return lambda seed: mock.patch.object(
        loop.TrainingData,
        "feed",
        lambda data, size, _, dtype, *, first=0: _of_rows(data, size, number(seed), dtype, first=first),
    )


def at_most_once(data: loop.TrainingData, size: int, seed: int, dtype: tf.DType, *, first: int = 0) -> loop.Feed:
    """Feed minibatches in which each source is at most once per epoch: what is left is dropped."""
    rng, order = np.random.default_rng([seed, 2]), iter(())
    batch = _of_rows(data, size, seed, dtype, first=first).batch

    def take(steps: int) -> tuple[tf.Tensor, ...]:
        nonlocal order
        batches: list[np.ndarray] = []
        while len(batches) < steps:
            rows = np.fromiter(itertools.islice(order, size), np.int32)
            if len(rows) == size:
                batches.append(rows)
            else:
                order = iter(rng.permutation(len(data.y)))
        return (tf.constant(np.stack(batches)),)

    return loop.Feed(take, batch)


def independent(latent: LatentMoments, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
    """Draw independent antithetic pairs in place of those of a Sobol sequence."""
    num_functions, num_inputs = tf.unstack(tf.shape(latent.mean))
    normal = tf.random.stateless_normal([num_inputs, num_functions, num_draws // 2], seed, dtype=latent.mean.dtype)
    half = tf.sqrt(latent.var) * tf.transpose(normal)
    return latent.mean + tf.concat([half, -half], axis=0)


#: Patches, the settings of the estimator, and whether it has the same random state for every seed.
VARIANTS: dict[str, tuple[Patch, dict[str, object], bool]] = {
    "default": (nullcontext, {}, False),
    "draws-only": (feed(lambda seed: 0), {}, False),
    "minibatches-only": (feed(lambda seed: seed), {}, True),
    "at-most-once": (lambda seed: mock.patch.object(loop.TrainingData, "feed", at_most_once), {}, False),
    "independent": (lambda seed: mock.patch.object(base, "antithetic_draws", independent), {}, False),
    "pairs-16": (nullcontext, {"training": {"mean": True, "draw_pairs": 16}}, False),
    "pairs-128": (nullcontext, {"training": {"mean": True, "draw_pairs": 128}}, False),
    "all-rows": (nullcontext, {"batch_size": None}, False),
}


@contextmanager
def of_variant(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Patch what a variant and a seed are to change, and give the settings of the estimator."""
    patches, settings, same = zip(*(VARIANTS[part] for part in name.split("+")), strict=True)
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch(seed))
        yield {"random_state": 0 if any(same) else seed, **ChainMap(*settings)}


def differences(name: str, seeds: range) -> str:
    """Fit a variant with each seed, and compare the labels."""
    catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
    checked = fc.Recipe().check(catalog)
    P, seconds = [], []
    for seed in seeds:
        with of_variant(name, seed) as settings:
            begin = time.process_time()
            model = train_checked(replace(checked, recipe=checked.recipe.with_settings(**settings)))
            seconds.append(time.process_time() - begin)
        labels = model.label(catalog, table=checked.table)
        P.append(np.array([labels[f"P_{each}"] for each in model.classes]))
    pairs_of_seeds = [one - other for one, other in itertools.combinations(P, 2)]
    found = {
        "rms": [np.sqrt(np.mean(d**2)) for d in pairs_of_seeds],
        "largest": [np.abs(d).max() for d in pairs_of_seeds],
        "expected": [np.abs(d.sum(axis=1)).max() for d in pairs_of_seeds],
    }
    text = ", ".join(f"{key} {np.mean(values):.4f} ({np.max(values):.4f})" for key, values in found.items())
    return f"{text}; {np.mean(seconds):.1f} s"


def losses(name: str, seeds: range, later: Path) -> str:
    """Evaluate a variant with each seed."""
    catalogs = {release: fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz") for release in RELEASES}
    truth = fc.read_catalog(later)
    targets = {release: evaluation.open_world(each, truth, cells="even") for release, each in catalogs.items()}
    targets["folds"] = evaluation.folds(catalogs[RELEASES[-1]])
    cells = []
    for release, of_release in targets.items():
        found = []
        for seed in seeds:
            with of_variant(name, seed) as settings:
                method = evaluation.model_method("variant", fc.Recipe().with_settings(**settings).settings)
                found.append(evaluation.evaluate(of_release, [method]).to_dict()["methods"]["variant"]["nll"])
        cells.append(f"{release} {np.mean(found):.4f} ({np.std(found):.4f})")
    return ", ".join(cells)


def main() -> None:
    """Print a line for each variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", default=["default"], metavar="VARIANT")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--losses", type=Path, metavar="LATER.fits")
    given = parser.parse_args()
    for name in given.variants:
        seeds = range(given.seeds)
        found = differences(name, seeds) if given.losses is None else losses(name, seeds, given.losses)
        print(f"{name}: {found}", flush=True)


if __name__ == "__main__":
    main()

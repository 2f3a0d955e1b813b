"""Held-out NLL against seconds, beside other Gaussian processes.

    python docs/development/training/against_others.py rows DR4 DR4.npz
    python docs/development/training/against_others.py run DR4.npz fermiclass gpflow gpytorch --to curves.jsonl
    python docs/development/training/against_others.py table curves.jsonl

Each method learns from four fifths of the rows and is tested on the rest, for some splits. The time is that of the fit,
without imports and tests, with the tracing of graphs. Data: a release, or a data set of ``fermiclass benchmark gpc``.
``run`` needs only the library of the method. An operation of TensorFlow uses one thread: GPflow, too, is faster so.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

STEPS: tuple[int, ...] = (25, 50, 100, 200, 400, 800)
M, BATCH = 60, 512

Rows = dict[str, np.ndarray]
Curve = Iterator[np.ndarray]  # probabilities of the test rows, after more and more work


def save_rows(name: str, path: str) -> None:
    """Write the features of a release's sources with a class, or a data set."""
    if name.startswith("DR"):
        import fermiclass as fc

        known = fc.Recipe().check(fc.read_catalog(f"catalogs/4FGL-{name}.fits.gz")).of_one_class
        X, X_var, y = known.X, known.X_var, known.y
    else:
        from fermiclass_benchmarks.gpc import load

        X, y = load(name)
        X_var = np.zeros_like(X)
    np.savez(path, X=X, X_var=X_var, y=np.unique(y, return_inverse=True)[1])


def split(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return training and test rows, standardised by the training rows."""
    order = np.random.default_rng(seed).permutation(len(rows["y"]))
    train, test = order[len(order) // 5 :], order[: len(order) // 5]
    mean, scale = rows["X"][train].mean(axis=0), rows["X"][train].std(axis=0)
    scaled = {"X": (rows["X"] - mean) / scale, "X_var": rows["X_var"] / scale**2, "y": rows["y"]}
    return ({key: a[part] for key, a in scaled.items()} for part in (train, test))  # type: ignore[return-value]


class Watch:
    """Processor and wall time, which stand still while a method is tested: counted from zero, further, or not."""

    def again(self) -> None:  # noqa: D102
        self.seconds = np.zeros(2)
        self.go()

    def go(self) -> None:  # noqa: D102
        self.seconds -= (time.process_time(), time.perf_counter())

    def stop(self) -> None:  # noqa: D102
        self.seconds += (time.process_time(), time.perf_counter())


def fermiclass(train: Rows, test: Rows, watch: Watch, **settings: Any) -> Curve:
    """Train the default for catalogues, a fit of its own for each number of steps."""
    import tensorflow  # noqa: F401 (not in the time)

    from fermiclass.labelling.recipe import Recipe
    from fermiclass.labelling.training import estimator_of

    for steps in STEPS:
        watch.again()
        model = estimator_of(Recipe().with_settings(steps=steps, **settings))
        model.fit(train["X"], train["y"], X_var=train["X_var"])
        watch.stop()
        yield model.predict_proba(test["X"], X_var=test["X_var"])


def same_kernel(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train ours with the kernel and the length-scales that the others start with, and without priors."""
    start = train["X"].shape[1] ** 0.5
    return fermiclass(train, test, watch, method="mgp", kernel="se", hyper={"priors": False, "lengthscale": start})


def curve(step: Callable[[], None], latent: Callable[[], list[np.ndarray]], watch: Watch) -> Curve:
    """Make steps, and predict from mean and variance of the latent functions at the test rows, (n, C), on the way."""
    for steps in np.diff(STEPS, prepend=0):
        for _ in range(steps):
            step()
        watch.stop()
        mean, var = latent()
        f = mean + np.sqrt(var) * np.random.default_rng(0).normal(size=(512, *mean.shape))
        p = np.exp(f - f.max(axis=-1, keepdims=True))
        yield np.mean(p / p.sum(axis=-1, keepdims=True), axis=0)
        watch.go()


def gpflow(train: Rows, test: Rows, watch: Watch, natural: bool = False) -> Curve:
    """Train SVGP with a squared exponential kernel and the softmax likelihood, by Adam."""
    import gpflow
    import tensorflow as tf
    from sklearn.cluster import KMeans

    watch.again()
    X, y, C = train["X"], train["y"], int(train["y"].max()) + 1
    Z = KMeans(M, n_init=1, random_state=0).fit(X).cluster_centers_
    kernels = [gpflow.kernels.RBF(lengthscales=np.full(X.shape[1], X.shape[1] ** 0.5)) for _ in range(C)]
    model = gpflow.models.SVGP(
        gpflow.kernels.SeparateIndependent(kernels),
        gpflow.likelihoods.Softmax(C),
        gpflow.inducing_variables.SharedIndependentInducingVariables(gpflow.inducing_variables.InducingPoints(Z)),
        num_latent_gps=C,
        num_data=len(X),
    )
    model.likelihood.num_monte_carlo_points = 8
    batches: Any = iter(
        tf.data.Dataset.from_tensor_slices((X, y[:, None])).repeat().shuffle(len(X), seed=0).batch(BATCH)
    )
    optimiser = tf.keras.optimizers.Adam(0.03)
    both = (model.q_mu, model.q_sqrt)
    if natural:
        for parameter in both:
            gpflow.set_trainable(parameter, False)
        gradient = gpflow.optimizers.NaturalGradient(0.1)
    variables = model.trainable_variables
    optimiser.build(variables)

    @tf.function
    def step(batch: tuple[tf.Tensor, tf.Tensor]) -> None:
        if natural:
            gradient.minimize(lambda: model.training_loss(batch), [both])
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = model.training_loss(batch)
        optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    def latent() -> list[np.ndarray]:
        return [a.numpy() for a in model.predict_f(test["X"])]

    return curve(lambda: step(next(batches)), latent, watch)


def gpytorch(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train the same model in GPyTorch, by Adam."""
    import gpytorch
    import torch
    from sklearn.cluster import KMeans

    watch.again()
    torch.manual_seed(0)
    X, y = torch.tensor(train["X"]).float(), torch.tensor(train["y"])
    C, D = int(y.max()) + 1, X.shape[1]
    Z = torch.tensor(KMeans(M, n_init=1, random_state=0).fit(train["X"]).cluster_centers_).float()
    batch = torch.Size([C])

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(M, batch_shape=batch)
            inner = gpytorch.variational.VariationalStrategy(self, Z.repeat(C, 1, 1), q)
            super().__init__(gpytorch.variational.IndependentMultitaskVariationalStrategy(inner, num_tasks=C))
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=batch)
            kernel = gpytorch.kernels.RBFKernel(ard_num_dims=D, batch_shape=batch)
            kernel.lengthscale = D**0.5
            self.covar_module = gpytorch.kernels.ScaleKernel(kernel, batch_shape=batch)

        def forward(self, x: torch.Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model()
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=C, mixing_weights=False)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    optimiser = torch.optim.Adam(model.parameters(), 0.03)
    generator = torch.Generator().manual_seed(0)

    def step() -> None:
        model.train()
        rows = torch.randint(len(X), (BATCH,), generator=generator)
        optimiser.zero_grad()
        with gpytorch.settings.num_likelihood_samples(8):
            loss = -bound(model(X[rows]), y[rows])
        loss.backward()
        optimiser.step()

    def latent() -> list[np.ndarray]:
        model.eval()
        with torch.no_grad():
            found = model(torch.tensor(test["X"]).float())
        return [found.mean.numpy(), found.variance.numpy()]

    return curve(step, latent, watch)


METHODS: dict[str, Callable[[Rows, Rows, Watch], Curve]] = {"fermiclass": fermiclass, "same-kernel": same_kernel}
METHODS |= {"mgp": partial(fermiclass, method="mgp"), "gpflow": gpflow, "gpytorch": gpytorch}
METHODS |= {"gpflow-natural": partial(gpflow, natural=True)}
OURS, GP_LIBRARIES = ("fermiclass", "mgp", "same-kernel"), ("gpflow", "gpflow-natural", "gpytorch")


def run(path: str, names: list[str], splits: int, to: str) -> None:
    """Append a line for each method, split and point of its curve."""
    rows = dict(np.load(path))
    for name, seed in product(names, range(splits)):
        train, test = split(rows, seed)
        watch = Watch()
        for k, p in enumerate(METHODS[name](train, test, watch)):
            own = np.maximum(p[np.arange(len(p)), test["y"]], 1e-15)
            record = {"data": Path(path).stem, "method": name, "split": seed, "point": k, "nll": -np.log(own).mean()}
            with Path(to).open("a") as file:
                file.write(json.dumps(record | dict(zip(("cpu", "wall"), watch.seconds, strict=True))) + "\n")


def table(path: str) -> None:
    """Print processor times to the same NLL: where a library comes within 0.001 of its lowest, and where ours do."""
    import pandas as pd

    means = pd.read_json(path, lines=True).groupby(["data", "method", "point"], sort=False)[["cpu", "nll"]].mean()
    print(f"| data | library | NLL | library / s | {' | '.join(f'{name} / s' for name in OURS)} |")
    for data, of_data in means.groupby("data", sort=False):
        for library in of_data.index.unique("method").intersection(GP_LIBRARIES, sort=False):
            level = of_data.xs(library, level="method")["nll"].min() + 0.001
            reached = of_data[of_data["nll"] <= level].groupby("method")["cpu"].min()
            times = [f"{reached[name]:.1f}" if name in reached else "–" for name in (library, *OURS)]
            print(f"| {data} | {library} | {level:.3f} | {' | '.join(times)} |")


def main() -> None:
    """Run a sub-command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["rows", "run", "table"])
    parser.add_argument("arguments", nargs="+")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--to")
    given = parser.parse_args()
    if given.command == "run":
        run(given.arguments[0], given.arguments[1:], given.splits, given.to)
    else:
        (save_rows if given.command == "rows" else table)(*given.arguments)


if __name__ == "__main__":
    main()

"""Held-out NLL against seconds, beside other Gaussian processes and ensembles of trees.

    python docs/development/training/against_others.py rows DR4 DR4.npz
    python docs/development/training/against_others.py run DR4.npz fermiclass gpflow catboost forest --to curves.jsonl
    python docs/development/training/against_others.py run DR4.npz gpytorch --to curves.jsonl
    python docs/development/training/against_others.py table curves.jsonl
    python docs/development/training/against_others.py plot curves.jsonl against-others.png

Each method learns from four fifths of the rows and is tested on the rest, for some splits. The time is processor time
and wall time of the fit, without imports and without the tests; it contains the tracing of graphs. Data: a release, or
a data set of ``fermiclass benchmark gpc``. The sub-command ``run`` needs only the library of the method, and so runs in
an environment without fermiclass. Others have no error bars; ``mgp`` and ``same-kernel`` ignore them, too.

An operation of TensorFlow uses one thread, as in the commands: GPflow, too, is faster with it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
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

        table = fc.Recipe().check(fc.read_catalog(f"catalogs/4FGL-{name}.fits.gz")).of_one_class
        X, X_var, y = table.X, table.X_var, table.y
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
    """Processor and wall time, which stand still while a method is tested."""

    def __init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Count from zero."""
        self.seconds = np.zeros(2)
        self.go()

    def go(self) -> None:
        """Go on to count."""
        self.start = np.array([time.process_time(), time.perf_counter()])

    def stop(self) -> None:
        """Count the time since `go`."""
        self.seconds += np.array([time.process_time(), time.perf_counter()]) - self.start


def fermiclass(train: Rows, test: Rows, watch: Watch, **settings: Any) -> Curve:
    """Train the default for catalogues, a fit of its own for each number of steps."""
    import tensorflow  # noqa: F401 (not in the time)

    from fermiclass.labelling.training import default_estimator

    for steps in STEPS:
        watch.again()
        model = default_estimator(steps=steps, **settings)
        model.fit(train["X"], train["y"], X_var=train["X_var"])
        watch.stop()
        yield model.predict_proba(test["X"], X_var=test["X_var"])


def mgp(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train the same without error bars."""
    return fermiclass(train, test, watch, method="mgp")


def same_kernel(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train ours with the kernel and the length-scales that the others start with, and without priors."""
    start = train["X"].shape[1] ** 0.5
    return fermiclass(train, test, watch, method="mgp", kernel="se", hyper={"priors": False, "lengthscale": start})


def gpflow(train: Rows, test: Rows, watch: Watch, natural: bool = False) -> Curve:
    """Train SVGP with a squared exponential kernel and the softmax likelihood, by Adam."""
    import gpflow
    import tensorflow as tf
    from sklearn.cluster import KMeans

    watch.go()
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

    done = 0
    for steps in STEPS:
        for _ in range(steps - done):
            step(next(batches))
        done = steps
        watch.stop()
        mean, var = (a.numpy() for a in model.predict_f(test["X"]))
        yield softmax_mean(mean, var)
        watch.go()


def gpflow_natural(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train the same with natural gradients for q(u)."""
    return gpflow(train, test, watch, natural=True)


def gpytorch(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train the same model in GPyTorch, by Adam."""
    import gpytorch
    import torch
    from sklearn.cluster import KMeans

    watch.go()
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
    done = 0
    for steps in STEPS:
        model.train()
        for _ in range(steps - done):
            rows = torch.randint(len(X), (BATCH,), generator=generator)
            optimiser.zero_grad()
            with gpytorch.settings.num_likelihood_samples(8):
                loss = -bound(model(X[rows]), y[rows])
            loss.backward()
            optimiser.step()
        done = steps
        watch.stop()
        model.eval()
        with torch.no_grad():
            latent = model(torch.tensor(test["X"]).float())
        yield softmax_mean(latent.mean.numpy(), latent.variance.numpy())
        watch.go()


def gpjax(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train t-SVGP in GPJax, one class against the rest: it has no likelihood of several classes.

    Natural gradients for q(u) in its dual form, Adam for all else; a fit of its own for each number of steps.
    """
    import gpjax as gpx
    import jax
    import jax.numpy as jnp
    import optax
    from jax.scipy.special import ndtr
    from sklearn.cluster import KMeans

    jax.config.update("jax_enable_x64", True)
    X, C, D = train["X"], int(train["y"].max()) + 1, train["X"].shape[1]
    for steps in STEPS:
        watch.again()
        Z = KMeans(M, n_init=1, random_state=0).fit(X).cluster_centers_
        scores = []
        for c in range(1 if C == 2 else C):
            kernel = gpx.kernels.RBF(lengthscale=jnp.full(D, D**0.5))
            prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
            model, _ = gpx.fit_natgrads(
                model=gpx.variational_families.DualVariationalGaussian(
                    model=prior * gpx.likelihoods.Bernoulli(), inducing_inputs=jnp.array(Z)
                ),
                objective=lambda q, rows: -gpx.objectives.dual_elbo(q, rows),
                train_data=gpx.Dataset(X=jnp.array(X), y=jnp.array(train["y"] == c, float)[:, None]),
                optim=optax.adam(0.03),
                natgrad_lr=0.1,
                num_iters=steps,
                batch_size=BATCH,
                verbose=False,
            )
            watch.stop()
            mean, var = model.marginals(jnp.array(test["X"]))
            scores.append(np.asarray(ndtr(mean / jnp.sqrt(1.0 + var))))
            watch.go()
        watch.stop()
        p = np.stack([scores[0], 1.0 - scores[0]] if C == 2 else scores, axis=1)
        yield p / p.sum(axis=1, keepdims=True)


def catboost(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train CatBoost with its defaults, from few to many trees."""
    from catboost import CatBoostClassifier

    options = {"verbose": False, "random_seed": 0, "allow_writing_files": False}
    return of_trees((CatBoostClassifier(n, **options) for n in (50, 100, 200, 400, 1000)), train, test, watch)


def forest(train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train the random forest of scikit-learn, with leaves of three rows."""
    from sklearn.ensemble import RandomForestClassifier

    options = {"min_samples_leaf": 3, "random_state": 0}
    return of_trees((RandomForestClassifier(n, **options) for n in (20, 50, 100, 200, 500)), train, test, watch)


def of_trees(models: Iterator[Any], train: Rows, test: Rows, watch: Watch) -> Curve:
    """Train one after the other."""
    for model in models:
        watch.again()
        model.fit(train["X"], train["y"])
        watch.stop()
        yield model.predict_proba(test["X"])


METHODS: dict[str, Callable[[Rows, Rows, Watch], Curve]] = {"fermiclass": fermiclass, "mgp": mgp}
METHODS |= {"same-kernel": same_kernel, "gpflow": gpflow, "gpflow-natural": gpflow_natural, "gpytorch": gpytorch}
METHODS |= {"gpjax": gpjax, "catboost": catboost, "forest": forest}
OURS = ("fermiclass", "mgp", "same-kernel")
GP_LIBRARIES = ("gpflow", "gpflow-natural", "gpytorch", "gpjax")


def softmax_mean(mean: np.ndarray, var: np.ndarray, draws: int = 512) -> np.ndarray:
    """Return the mean of softmax(f) over independent f, (n, C)."""
    f = mean + np.sqrt(var) * np.random.default_rng(0).normal(size=(draws, *mean.shape))
    p = np.exp(f - f.max(axis=-1, keepdims=True))
    return np.mean(p / p.sum(axis=-1, keepdims=True), axis=0)


def run(path: str, names: list[str], splits: int, to: str) -> None:
    """Append a line for each method, split and point of its curve."""
    rows = dict(np.load(path))
    for name in names:
        for seed in range(splits):
            train, test = split(rows, seed)
            watch = Watch()
            for k, p in enumerate(METHODS[name](train, test, watch)):
                own = np.maximum(p[np.arange(len(p)), test["y"]], 1e-15)
                record = {"data": Path(path).stem, "method": name, "split": seed, "point": k}
                record |= dict(zip(("cpu", "wall"), watch.seconds.round(3).tolist(), strict=True))
                with Path(to).open("a") as file:
                    file.write(json.dumps(record | {"nll": round(float(-np.log(own).mean()), 5)}) + "\n")


def curves(path: str) -> dict[str, dict[str, np.ndarray]]:
    """Return for each data set and method processor time, wall time and NLL of each point, means over splits."""
    found: dict[str, dict[str, dict[int, list[list[float]]]]] = {}
    for record in map(json.loads, Path(path).read_text().splitlines()):
        points = found.setdefault(record["data"], {}).setdefault(record["method"], {})
        points.setdefault(record["point"], []).append([record["cpu"], record["wall"], record["nll"]])
    return {
        data: {name: np.array([np.mean(points[k], axis=0) for k in sorted(points)]) for name, points in methods.items()}
        for data, methods in found.items()
    }


def table(path: str) -> None:
    """Print processor times to the same NLL: where a library comes within 0.001 of its lowest, and where ours do."""
    print(f"| data | library | NLL | library / s | {' | '.join(f'{name} / s' for name in OURS)} |")
    for data, methods in curves(path).items():
        for library in GP_LIBRARIES:
            if library not in methods:
                continue
            level = methods[library][:, 2].min() + 0.001
            times = []
            for name in (library, *OURS):
                reached = [cpu for cpu, _, nll in methods.get(name, ()) if nll <= level]
                times.append(f"{min(reached):.1f}" if reached else "–")
            print(f"| {data} | {library} | {level:.3f} | {' | '.join(times)} |")


def plot(path: str, figure: str) -> None:
    """Draw NLL against processor time: lines of means over splits; print them, too."""
    import matplotlib.pyplot as plt

    found = curves(path)
    rows = -(-(len(found) + 1) // 3)  # one more, for the legend
    fig, axes = plt.subplots(rows, 3, figsize=(10.0, 3.3 * rows), squeeze=False, layout="constrained")
    lines = {}
    for ax, (data, methods) in zip(axes.flat, found.items(), strict=False):
        for k, name in enumerate(METHODS):
            if name not in methods:
                continue
            cpu, _, nll = methods[name].T
            style = "o-" if name in OURS else "s--" if name in GP_LIBRARIES else "^:"
            (lines[name],) = ax.plot(cpu, nll, style, ms=3.5, color=f"C{k}", label=name)
            print(data, name, " ".join(f"{c:.1f}/{w:.1f}s:{n:.4f}" for c, w, n in methods[name]))
        lowest = min(points[:, 2].min() for points in methods.values())
        highest = max(points[len(points) // 2, 2] for name, points in methods.items() if name in (*OURS, *GP_LIBRARIES))
        ax.set(xscale="log", title=data, ylim=(lowest - 0.05 * (highest - lowest), highest + 0.2 * (highest - lowest)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.grid(alpha=0.3)
    for ax in axes.flat[len(found) :]:
        ax.axis("off")
    named = sorted(lines, key=list(METHODS).index)
    axes[-1, -1].legend([lines[name] for name in named], named, loc="center", frameon=False)
    fig.supxlabel("processor time of the fit / s", fontsize=10)
    fig.supylabel("held-out NLL", fontsize=10)
    plt.savefig(figure, dpi=150)


def main() -> None:
    """Run a sub-command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("name")
    rows.add_argument("path")
    running = commands.add_parser("run")
    running.add_argument("path")
    running.add_argument("methods", nargs="+", choices=METHODS)
    running.add_argument("--splits", type=int, default=3)
    running.add_argument("--to", required=True)
    commands.add_parser("table").add_argument("path")
    plotting = commands.add_parser("plot")
    plotting.add_argument("path")
    plotting.add_argument("figure")
    given = parser.parse_args()
    if given.command == "rows":
        save_rows(given.name, given.path)
    elif given.command == "run":
        run(given.path, given.methods, given.splits, given.to)
    elif given.command == "table":
        table(given.path)
    else:
        plot(given.path, given.figure)


if __name__ == "__main__":
    main()

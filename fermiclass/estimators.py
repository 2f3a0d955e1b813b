"""Classifiers in scikit-learn style that take the inputs' noise variances: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.estimator_settings import (
    TEMPERATURE,
    check_variances,
    expected_inputs,
    forget,
    model_settings,
    read_prior,
    shared_graphs,
    standardise,
    tensor_type,
    wrong_label_probabilities,
)
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER

if TYPE_CHECKING:
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState
    from fermiclass.rows import Rows


class NIMGPClassifier(ClassifierMixin, BaseEstimator):
    """Multi-class Gaussian process classifier whose inputs have known noise variances.

    A sparse variational GP for each class (Villacampa-Calvo, Zaldívar, Garrido-Merchán & Hernández-Lobato 2021).
    Inputs and variances are standardised inside. The order of the training rows changes nothing.

    Parameters
    ----------
    method : {'nimgp', 'nimgp-psi', 'nimgp-nn', 'nimgp-fo', 'nimgp-fo-marginal', 'mgp', 'mgp-aug', 'mgp-sampling'}
        'nimgp' infers the noiseless input of every training source, 'nimgp-psi' with moments in closed form in place
        of draws (for the kernels 'se' and 'linear'), 'nimgp-nn' by a network; 'nimgp-fo' turns input
        noise into noise of the latent functions, as the paper does, 'nimgp-fo-marginal' the same with the average over
        the noise inside the logarithm; 'mgp' ignores input noise, 'mgp-aug' and 'mgp-sampling' learn from draws.
    likelihood : {'softmax', 'softmax-bound', 'step', 'probit', 'logit'}
        Softmax, by sampling or by a bound in closed form, or the class of the largest latent function, without noise
        (the paper's robust step) or with Gaussian noise.
    kernel : str
        'se' (squared exponential), 'matern32', 'matern52', 'linear', 'polynomial', or several joined by '+'; the
        stationary ones and the polynomial have ARD length-scales, and white noise is always added.
    noise : {'given', 'per-feature', 'shared'}
        V as given with every source, or learned and the same for all sources: a variance of each feature, or one for
        all standardised features.
    initial_noise : float
        Where a learned V starts, and its prior's median, for standardised inputs.
    objective : {'elbo', 'predictive'}
        What training maximises: the evidence lower bound, or the same with ``log E p(y | f)`` in the place of
        ``E log p(y | f)`` (:class:`fermiclass.nimgp.likelihoods.Predictive`), often better where labels are plenty.
        'nimgp-fo-marginal' is then the same as 'nimgp-fo'.
    epsilon : float or None
        ε of the step, probit and logit likelihoods: fixed, or learned (None). The paper fixes 10⁻³.
    label_noise : float or 'learned'
        ρ, the share of labels that are anyone's guess (:class:`fermiclass.nimgp.contaminated.Contaminated`): 0 trusts
        them all, 'learned' has a Beta(1, 9) prior. Probabilities are those of the classes, not of labels.
    num_inducing : int or float
        Inducing points a class; never more than there are distinct training inputs. A fraction is one of the training
        sources, up to 100 points (the paper's rule, 0.05).
    inducing : {'kmeans', 'random'}
        Where they start.
    steps, batch_size, learning_rate, decay
        Adam steps, sources a step (None: all), the first step size, and whether it falls along a cosine or stays.
    epochs : int or None
        Passes over the training sources, instead of ``steps``.
    natural_gradient : float or None
        Step size γ, up to 1, of natural gradient steps for the variational distribution of the inducing values, which
        Adam moves otherwise; 0.1 is a common choice. With step, probit or logit and several classes that overlap, they
        may end at lower bounds than Adam.
    patience : int or None
        Stop when the smoothed bound has not risen by a thousandth for so many steps.
    input_prior : {'isotropic', 'population', 'mixture'}
        p(x) for standardised inputs: N(0, a I), or N(m, a Σ) with the mean and covariance of the training sources'
        noiseless inputs (:meth:`fermiclass.nimgp.input_prior.InputPrior.population`), or a mixture of such Gaussians.
        First-order methods take each input to be its mean under p(x | x̃), with the variances there; with 'isotropic',
        and with learned noise, they do without, as do methods that have no input model ('mgp' and its relatives).
    input_prior_variance : float or None
        a; None is flat. The paper takes 1000 in training and a flat prior in prediction.
    components : int
        Gaussians of the mixture.
    hyper_priors : bool
        Log-normal priors on the hyper-parameters, or none.
    clip : float or None
        Standardised inputs are limited to ±clip, so that no single wild value rules a prediction.
    max_noise : float or None
        Limit of a noise variance, in units of the input's variance over the training sources.
    precision : {'float32', 'float64'}
        Of training and prediction.
    initial_lengthscale : float or None
        Where length-scales start, for standardised inputs; None for the median of their prior, 3√D.
    initial_white : float
        Where the variance of the white noise starts.
    initial_spread : float
        Where the variances of the q(x) of 'nimgp' start, in units of V.
    jitter : float
        Relative to the diagonal of the inducing points' covariance.
    hidden_units, hidden_layers : int
        Of the network of 'nimgp-nn'.
    degree : int
        Of the polynomial kernel.
    average_noise : bool
        Whether predictions are averaged over x* ~ p(x* | x̃*), or made at the observed inputs.
    num_draws : int
        Quasi-Monte Carlo draws of each x*, best a power of 2.
    temperature : float or 'folds'
        T of ``softmax(f/T)`` in prediction; 'folds' finds it on held-out sources
        (:func:`fermiclass.calibration.fold_temperature`), which takes five trainings more. The step likelihood knows
        no scale of f: leave it at 1.
    random_state : int, RandomState or None
        The same integer gives the same classifier.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    n_features_in_ : int
        D.
    mean_, scale_ : ndarray (D,)
        By which inputs are standardised.
    weights_ : dict of ndarray
        Trained parameters, with mean and precision of p(x) for standardised inputs, and the temperature.
    temperature_ : float
        T.
    noise_variance_ : ndarray (D,) or None
        V where it was learned, in the units of X.
    label_noise_ : float
        ρ, given or learned.
    row_features_ : tuple of str
        After :meth:`fit_rows`: the features' names, which rows to be labelled must have, too.
    elbo_ : ndarray
        The bound as training went on, or what else the objective is.
    """

    def __init__(
        self,
        method: str = "nimgp",
        *,
        likelihood: str = "softmax",
        kernel: str = "se+linear",
        noise: str = "given",
        initial_noise: float = 0.1,
        objective: str = "elbo",
        epsilon: float | None = None,
        label_noise: float | str = 0.0,
        num_inducing: int | float = 60,
        inducing: str = "kmeans",
        steps: int = 500,
        batch_size: int | None = None,
        learning_rate: float = 0.03,
        decay: bool = True,
        epochs: int | None = None,
        natural_gradient: float | None = None,
        patience: int | None = None,
        input_prior: str = "isotropic",
        input_prior_variance: float | None = 3.0,
        components: int = 3,
        hyper_priors: bool = True,
        clip: float | None = 4.0,
        max_noise: float | None = 2.0,
        precision: str = "float32",
        initial_lengthscale: float | None = None,
        initial_white: float = 0.01,
        initial_spread: float = 0.5,
        jitter: float = 1e-3,
        hidden_units: int = 50,
        hidden_layers: int = 1,
        degree: int = 3,
        average_noise: bool = True,
        num_draws: int = 256,
        temperature: float | str = 1.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.likelihood = likelihood
        self.kernel = kernel
        self.noise = noise
        self.initial_noise = initial_noise
        self.objective = objective
        self.epsilon = epsilon
        self.label_noise = label_noise
        self.num_inducing = num_inducing
        self.inducing = inducing
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.epochs = epochs
        self.natural_gradient = natural_gradient
        self.patience = patience
        self.input_prior = input_prior
        self.input_prior_variance = input_prior_variance
        self.components = components
        self.hyper_priors = hyper_priors
        self.clip = clip
        self.max_noise = max_noise
        self.precision = precision
        self.initial_lengthscale = initial_lengthscale
        self.initial_white = initial_white
        self.initial_spread = initial_spread
        self.jitter = jitter
        self.hidden_units = hidden_units
        self.hidden_layers = hidden_layers
        self.degree = degree
        self.average_noise = average_noise
        self.num_draws = num_draws
        self.temperature = temperature
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_var: Any = None,
        progress: Callable[[TrainingState], None] | None = None,
    ) -> NIMGPClassifier:
        """Train.

        Parameters
        ----------
        X
            Observed inputs, ``(N, D)``.
        y
            Labels, ``(N,)``. Rows whose label is the empty string have none and are left out.
        X_var
            Noise variances of X, ``(N, D)``, non-negative; None for noiseless inputs.
        progress
            Called with the state of training every few steps.

        Returns
        -------
        NIMGPClassifier
            Itself.

        Raises
        ------
        ValueError
            When shapes differ, values are not finite, a variance is negative, or there is only one class.
        """
        from fermiclass.fitting import prepare, train_together

        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64)
        train_together([self], [prepare(self, X, y, X_var)], progress)
        return self

    def fit_many(
        self, data: Sequence[tuple[Any, Any, Any]], *, progress: Callable[[TrainingState], None] | None = None
    ) -> list[NIMGPClassifier]:
        """Train copies on several ``(X, y, X_var)`` at once; see :func:`fermiclass.fitting.fit_many`."""
        from fermiclass.fitting import fit_many

        return fit_many(self, data, progress=progress)

    def fit_rows(
        self,
        rows: Rows,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Callable[[TrainingState], None] | None = None,
    ) -> NIMGPClassifier:
        """Train on rows on disk, of any number; see :func:`fermiclass.streaming.fit_rows`."""
        from fermiclass.streaming import fit_rows

        return fit_rows(self, rows, checkpoint=checkpoint, progress=progress)

    def predict_rows(self, rows: Rows, path: str | os.PathLike[str], **options: Any) -> None:
        """Label rows on disk, to a file that grows; see :func:`fermiclass.streaming.predict_rows`."""
        from fermiclass.streaming import predict_rows

        check_is_fitted(self)
        predict_rows(self, rows, path, **options)

    def restore(self, weights: Mapping[str, np.ndarray]) -> NIMGPClassifier:
        """Take trained parameters, such as ``weights_`` of another of the same settings, and get ready to predict."""
        from fermiclass.nimgp.build import model_from_weights
        from fermiclass.nimgp.prediction import Predictor

        self.weights_ = dict(weights)
        parameters = dict(weights)
        prior = read_prior(parameters)
        temperature = parameters.pop(TEMPERATURE, np.empty(0))
        settings = model_settings(self)
        model = model_from_weights(settings, parameters, dtype=tensor_type(self.precision))
        input_dim = parameters["posterior.Z"].shape[-1]
        if prior.mean.shape[-1] != input_dim or temperature.shape != ():
            raise ValueError(f"the weights lack p(x) of {input_dim} inputs, or the temperature")
        if not temperature > 0:
            raise ValueError(f"the temperature is {temperature}, not positive")
        graphs = shared_graphs(settings, model)
        self._predictor = Predictor(model, input_prior=prior, first_order=settings.first_order, graphs=graphs)
        learned = weights.get("noise.variance")
        self.noise_variance_ = None if learned is None else learned * self.scale_**2
        self.label_noise_ = float(weights.get("likelihood.rate", 0.0))
        return self.at_temperature(float(temperature))

    def at_temperature(self, temperature: float) -> NIMGPClassifier:
        """Set the temperature of a fitted classifier; see the parameter."""
        check_is_fitted(self)
        self.weights_[TEMPERATURE] = np.array(float(temperature))
        self.temperature_ = self._predictor.temperature = float(temperature)
        return self

    def predict_proba(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Class probabilities, ``(n, C)`` in the order of ``classes_``; see :meth:`predict_distribution`."""
        return self.predict_distribution(X, X_var=X_var).probabilities

    def predict(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Most probable classes, ``(n,)``; see :meth:`predict_distribution`."""
        best = np.argmax(self.predict_proba(X, X_var=X_var), axis=1)
        return self.classes_[best]

    def predict_wrong_label(self, X: Any, y: Any, *, X_var: Any = None) -> np.ndarray:
        """Probabilities ``(n,)`` that labels are wrong, ``(ρ/C) (1 − P_y) / [ρ/C + (1 − ρ) P_y]``.

        ρ is that of `label_noise`, P_y the probability of the class that the label names.

        The sources should not be those that were learned from: a label there vouches for itself.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict_distribution`.
        y
            Their labels, ``(n,)``, each one of `classes_`.

        Raises
        ------
        ValueError
            When all labels are trusted (`label_noise` is 0), or one is of no class.
        """
        probabilities = self.predict_proba(X, X_var=X_var)
        if not self.label_noise_:
            raise ValueError("label_noise=0 trusts every label: train with label_noise='learned'")
        return wrong_label_probabilities(self, probabilities, y)

    def predict_distribution(self, X: Any, *, X_var: Any = None) -> Prediction:
        """Probabilities with their uncertainty, and entropies with what they are made of.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``.
        X_var
            Their noise variances, ``(n, D)``; None for noiseless inputs.
        """
        from fermiclass.nimgp.prediction import join

        return join(list(self.predict_blocks(X, X_var=X_var)))

    def predict_blocks(self, X: Any, *, X_var: Any = None, ratio: np.ndarray | None = None) -> Iterator[Prediction]:
        """Predict as :meth:`predict_distribution` does, a block of rows at a time.

        ``ratio`` (n, C) corrects for other shares of the classes; see
        :meth:`fermiclass.nimgp.prediction.Predictor.blocks`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        X, X_var = standardise(self, X, check_variances(X, X_var))
        num_draws = self.num_draws
        if not self.average_noise or self.method not in (*AVERAGING, *FIRST_ORDER):
            X_var, num_draws = np.zeros_like(X_var), 1
        elif "noise.variance" in self.weights_:
            X_var = np.broadcast_to(self.weights_["noise.variance"], X.shape)
        X, X_var = expected_inputs(self, read_prior(dict(self.weights_)), X, X_var)
        return self._predictor.blocks(X, X_var, num_draws=num_draws, ratio=ratio)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")  # the last thing that fit sets

    # The TensorFlow model can be neither copied nor sent elsewhere: it is rebuilt from weights_.
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_predictor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "weights_"):
            self.restore(self.weights_)

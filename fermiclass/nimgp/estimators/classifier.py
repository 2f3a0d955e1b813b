"""Classifier with the interface of scikit-learn and known input noise: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from fermiclass.nimgp.estimators.fitted import Fitted
from fermiclass.nimgp.estimators.fitting import fit_classes
from fermiclass.nimgp.estimators.mixins import NoisyClassifierMixin, SparseGP, keep, new_rows, training_rows
from fermiclass.nimgp.estimators.preparation import Rows, labelled_rows
from fermiclass.nimgp.processes import refuse_after_fork
from fermiclass.nimgp.settings import HyperOptions, InputOptions, Settings, TrainingOptions
from fermiclass.nimgp.targets import has_label

if TYPE_CHECKING:
    from fermiclass.nimgp.prediction.prediction import Prediction
    from fermiclass.nimgp.training.loop import TrainingState


class NIMGPClassifier(NoisyClassifierMixin, SparseGP):
    """Multi-class Gaussian process classifier whose inputs have known noise variances.

    It has a sparse variational GP for each class (Villacampa-Calvo, Zaldívar, Garrido-Merchán & Hernández-Lobato 2021).
    It standardises inputs and variances itself. The order of the training rows has no effect. A fitted classifier keeps
    its settings: :meth:`set_params` has an effect on the next :meth:`fit` only.

    Parameters
    ----------
    method : str
        Treatment of input noise. 'nimgp' infers the noiseless input of every training source (equation 10 of the
        paper), and 'nimgp-nn' does so with a network. 'nimgp-fo' turns input noise into noise of the functions (16).
        'nimgp-fo-marginal' does the same with the average over this noise inside the logarithm. 'mgp' ignores input
        noise. 'mgp-aug' and 'mgp-sampling' learn from noisy copies of the inputs.
    likelihood : str or gpflow.likelihoods.Likelihood
        Likelihood of a class given the latent functions: 'softmax', by sampling, or 'softmax-bound', by a bound in
        closed form (equation 25 of Liu et al.; see :func:`fermiclass.paper_method`); or the class of the largest
        function, without noise ('step', equation 2 of the paper) or with Gaussian noise ('probit', 'logit'). An object
        of GPflow, such as ``gpflow.likelihoods.Softmax(3)``, has the classes in the order of the sorted labels.
    kernel : str or gpflow.kernels.Kernel
        Kernel, or several joined by '+': 'se' (squared exponential), 'matern32', 'matern52', 'linear', 'polynomial'.
        The stationary ones and the polynomial have ARD length-scales. White noise is always added. An object of GPflow,
        such as ``gpflow.kernels.RBF() + gpflow.kernels.Linear()``, is copied for each class, with its priors. It acts
        on standardised inputs. With an object the model is in double precision.
    objective : str
        Function that training maximises. 'predictive' has ``log E p(y | f)`` instead of ``E log p(y | f)``, and makes
        'nimgp-fo-marginal' the same as 'nimgp-fo'. 'elbo' is the evidence lower bound.
    noise : str
        Noise variances V of the inputs: 'given' with every source, or learned and the same for all sources, with one
        variance for each feature ('per-feature') or one for all standardised features ('shared').
    label_noise : float or 'learned'
        Probability ρ that a label is wrong (:func:`fermiclass.nimgp.likelihoods.named.of_given_labels`): learned, with
        a Beta(1, 9) prior, or given; 0 trusts all labels, and is best for 'step' with 'elbo', whose ε says the same.
        Predicted probabilities are those of the classes, not of the labels.
    label_sets : dict or None
        Labels that stand for a set of classes, one of which is right, such as ``{"bcu": ("bll", "fsrq")}``. Rows whose
        label stands for all classes are left out.
    label_weights : dict or None
        Weights of training rows by their label, such as ``{"bll": 0.5}``; 1 for all others.
    num_inducing : int or float
        Number of inducing points for each class, never more than there are distinct training inputs. A fraction is
        relative to the number of training sources, with at most 100 points (the paper's rule is 0.05).
    steps : int or 'auto'
        Number of training steps. 'auto' is 500, or as many as ten passes over the sources take, up to 10,000.
    epochs : int or None
        Number of passes over the training sources, instead of `steps`.
    batch_size : int, None or 'auto'
        Number of sources in a step; None for all. 'auto' is 512, and all with a method that has parameters for every
        source ('nimgp', 'mgp-aug').
    learning_rate : float
        First step size of Adam.
    num_draws : int
        Number of quasi-Monte Carlo draws of each noisy input in prediction, best a power of 2. First-order methods need
        none.
    temperature : float
        Temperature T of ``softmax(f/T)`` in prediction. The step likelihood has no scale of f: leave T at 1 there.
    inputs : InputOptions, dict or None
        How noiseless inputs are inferred: p(x), limits of the inputs, the network
        (:class:`fermiclass.nimgp.settings.InputOptions`). A dict has some of the options, None stands for the default.
    hyper : HyperOptions, dict or None
        Hyper-parameters: initial values and priors (:class:`fermiclass.nimgp.settings.HyperOptions`).
    training : TrainingOptions, dict or None
        Optimiser, choice of inducing points and precision (:class:`fermiclass.nimgp.settings.TrainingOptions`).
    random_state : int, RandomState or None
        Seed of all random numbers. The same whole number gives the same classifier.
    verbose : int
        Whether to print the objective every few steps of the training: 0 for no, 1 for yes.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features, D.
    uncertainties_in_ : list of str
        Columns of standard deviations of the training frame; empty if it had none.
    mean_, scale_ : ndarray (D,)
        Mean and scale by which inputs are standardised.
    weights_ : dict of ndarray
        Trained parameters, p(x) of standardised inputs, scaling, objective and temperature.
    temperature_ : float
        Temperature T of the predictions.
    noise_variance_ : ndarray (D,) or None
        Learned noise variance V in the units of X; None if it was given, or ignored (`method` 'mgp').
    label_noise_ : float
        Probability ρ that a label is wrong, given or learned.
    objective_ : ndarray
        Objective during training.
    """

    uncertainties_in_: list[str]

    def __init__(
        self,
        *,
        method: str = "nimgp-fo",
        likelihood: Any = "softmax",
        kernel: Any = "se+linear",
        objective: str = "predictive",
        noise: str = "given",
        label_noise: float | str = "learned",
        label_sets: Mapping[str, Sequence[str]] | None = None,
        label_weights: Mapping[str, float] | None = None,
        num_inducing: float = 60,
        steps: int | str = "auto",
        epochs: int | None = None,
        batch_size: int | str | None = "auto",
        learning_rate: float = 0.1,
        num_draws: int = 256,
        temperature: float = 1.0,
        inputs: InputOptions | Mapping[str, Any] | None = None,
        hyper: HyperOptions | Mapping[str, Any] | None = None,
        training: TrainingOptions | Mapping[str, Any] | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_var: Any = None,
        sample_weight: Any = None,
        start: NIMGPClassifier | None = None,
        progress: Callable[[TrainingState], None] | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X
            Observed inputs, ``(N, D)``; NaN is a value that is not known. Or a data frame with values and their errors:
            column ``Unc_x`` has the standard deviations of column ``x``, and is no feature. All columns of an array are
            features.
        y
            Labels, ``(N,)``. A label may stand for a set of classes (see `label_sets`). Rows whose label is the empty
            string are left out; −1 is a class like any other.
        X_var
            Noise variances of X, ``(N, D)``, non-negative; None for noiseless inputs, or a frame with errors. NaN is an
            error that is not known: it counts as the median of the known variances of the feature, or as the variance
            of the feature itself where none is known.
        sample_weight
            Weights of rows, ``(N,)``: they multiply a row's term of the objective. Rows of weight 0 are left out.
        start
            Trained classifier of the same kind and classes. Training starts from its parameters and standardisation,
            and from its network, or q(x) of rows that it has learned from, unless it was saved or pickled.
        progress
            Called with the state of training every few steps.

        Raises
        ------
        ValueError
            When shapes differ, values are infinite, a variance is negative, there is only one class, or `start` is
            another kind of model, or of other classes or another number of features.
        NotFittedError
            When `start` is not trained.
        """
        settings = Settings(**self.get_params(deep=False))
        if start is not None:
            if not isinstance(start, NIMGPClassifier):
                raise ValueError(f"start is {type(start).__name__}: expected a trained NIMGPClassifier")
            check_is_fitted(start)
        known = None if start is None else start.fitted_
        self.__dict__.pop("fitted_", None)  # a fit that fails leaves nothing of an earlier one
        rows = self._labelled(settings, X, y, X_var, sample_weight)
        return self._adopt(fit_classes(settings, rows, start=known, progress=self._observer(progress)))

    def _labelled(self, settings: Settings, X: Any, y: Any, X_var: Any = None, sample_weight: Any = None) -> Rows:
        """Check what is to be learned; see :meth:`fit`."""
        X, X_var, y = training_rows(self, X, X_var, y, ensure_all_finite="allow-nan")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        has_label(y)  # refuses bytes, with its own words
        check_classification_targets(y)
        return labelled_rows(settings, X, X_var, y, sample_weight, getattr(self, "feature_names_in_", None))

    def _adopt(self, fitted: Fitted) -> Self:
        """Show what was fitted as attributes."""
        self.classes_, self.temperature_ = np.asarray(fitted.target.classes), fitted.temperature
        learned = None if self.method == "mgp" else fitted.parameters.get("noise")
        self.noise_variance_ = None if learned is None else learned * fitted.scaling.scale**2
        self.label_noise_ = float(fitted.parameters.get("label_noise", 0.0))
        return super()._adopt(fitted)

    def restore(self, weights: Mapping[str, np.ndarray], classes: Any) -> Self:
        """Use ``weights_`` and ``classes_`` of a fitted classifier with the same settings.

        Raises ValueError when they do not fit the settings or each other, or have values that are not possible.
        """
        settings = Settings(**self.get_params(deep=False))
        return self._adopt(Fitted.from_arrays(settings, np.asarray(classes), weights))

    def predict_proba(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Return class probabilities, ``(n, C)`` in the order of ``classes_``; see :meth:`predict_distribution`."""
        return self.predict_distribution(X, X_var=X_var).probabilities

    def predict_distribution(self, X: Any, *, X_var: Any = None) -> Prediction:
        """Return probabilities with their uncertainties, and entropies with their parts.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``, NaN where not known; or a data frame with columns ``Unc_x``, as in :meth:`fit`.
        X_var
            Noise variances of X, ``(n, D)``; None for noiseless inputs. NaN, not known, counts as in :meth:`fit`.

        Returns
        -------
        Prediction
            Arrays ``probabilities`` and ``std``, ``(n, C)``, and ``entropy``, ``information`` and ``noise_entropy``,
            ``(n,)`` in nats; see :class:`fermiclass.nimgp.prediction.prediction.Prediction`.

        Raises
        ------
        ValueError
            When shapes differ, values are infinite, or a variance is negative.
        PredictionError
            When probabilities are NaN or infinite.
        """
        from fermiclass.nimgp.prediction.prediction import join

        return join(list(self.predict_blocks(X, X_var=X_var)))

    def predict_blocks(self, X: Any, *, X_var: Any = None, ratio: np.ndarray | None = None) -> Iterator[Prediction]:
        """Predict as :meth:`predict_distribution` does, one block of rows at a time.

        ``ratio`` (n, C) corrects for other class priors; see
        :meth:`fermiclass.nimgp.prediction.predictor.ClassPredictor.blocks`.
        """
        refuse_after_fork()
        check_is_fitted(self)
        return self.fitted_.blocks(*new_rows(self, X, X_var, ensure_all_finite="allow-nan"), ratio)

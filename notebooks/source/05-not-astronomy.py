# %% [markdown]
# # Other data: pandas and scikit-learn
#
# `NIMGPClassifier` is a scikit-learn estimator. It needs features and the variances of
# their errors, and knows nothing of astronomy.
#
# The example is the Wisconsin breast cancer data. For each of 569 tissue samples they give
# ten properties of the cell nuclei: the mean over many nuclei, *and the standard error of
# this mean*.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermiclass as fc
from fermiclass import plots

fc.load_tensorflow(quiet=True)  # it prints nothing

frame = load_breast_cancer(as_frame=True).frame
frame["diagnosis"] = np.where(frame["target"] == 1, "benign", "malignant")
means = [name for name in frame if name.startswith("mean ")]
errors = [name.removeprefix("mean ") + " error" for name in means]
frame[[means[0], errors[0], means[1], errors[1], "diagnosis"]].head(4)

# %% [markdown]
# ## Fit and predict
#
# `fit` takes a frame with values and their errors: the column `Unc_x` has the errors of the
# column `x`. Or it takes `X` and `X_var`, the squares of the errors, as two arrays. The
# classifier standardises values and errors itself.

# %%
both = frame[[*means, *errors]].rename(
    columns={error: f"Unc_{mean}" for mean, error in zip(means, errors, strict=True)}
)
train, test = train_test_split(
    frame, test_size=0.4, stratify=frame["diagnosis"], random_state=0
)
model = fc.NIMGPClassifier().fit(both.loc[train.index], train["diagnosis"])
P = pd.DataFrame(model.predict_proba(both.loc[test.index]), test.index, model.classes_)
P.join(test["diagnosis"]).head(5).round(3)

# %% [markdown]
# The picture shows two of the features. Points are training samples. Ellipses show the
# error bars (one standard deviation) of twelve test samples.

# %%
pair = ["mean concave points", "mean texture"]
noisy = test.iloc[:12]
axes = plots.feature_pair(
    train[pair],
    train["diagnosis"],
    ("concave points", "texture"),
    names=["benign", "malignant"],
    size=14.0,
    noisy=noisy[pair],
    noisy_var=noisy[["concave points error", "texture error"]] ** 2,
)
axes.figure.set_size_inches(5.0, 3.8)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Cross-validation, calibration, searches
#
# All tools of scikit-learn divide the frame by rows, so that a value keeps its error. A
# step of a pipeline before the classifier may select rows or columns, but must not rescale
# them.

# %%
scored = cross_val_score(
    fc.NIMGPClassifier(), both, frame["diagnosis"], cv=3, scoring="neg_log_loss"
)
print(f"NLL of three folds: {-scored.mean():.3f}")

# %% [markdown]
# ## When do error bars matter?
#
# In these data the errors are small compared with the differences between samples. A model
# that ignores them is as good. Suppose that a laboratory measures only a quarter, a
# sixteenth or a hundredth of the nuclei of each test sample. Its errors are 2, 4 and 10
# times as large.
#
# **The additional noise is simulated**: random numbers, added to the test samples. The
# three models learn from the original training samples. NIMGP uses the error bars; MGP and
# logistic regression do not.

# %%
nimgp = fc.NIMGPClassifier(method="nimgp").fit(
    train[means], train["diagnosis"], X_var=(train[errors] ** 2).to_numpy()
)
mgp = fc.NIMGPClassifier(method="mgp").fit(train[means], train["diagnosis"])
logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(
    train[means], train["diagnosis"]
)

rng = np.random.default_rng(0)
factors = [1.0, 2.0, 4.0, 10.0]
scores = pd.DataFrame(
    0.0,
    pd.Index(factors, name="errors, multiplied by"),
    ["NIMGP", "MGP", "logistic regression"],
)
DRAWS = 5
for factor in factors:
    X_var = ((factor * test[errors]) ** 2).to_numpy()
    for _ in range(DRAWS):
        added = np.sqrt(factor**2 - 1.0) * test[errors].to_numpy()
        X = test[means] + added * rng.standard_normal(added.shape)
        predicted = (
            nimgp.predict_proba(X, X_var=X_var),
            mgp.predict_proba(X),
            logistic.predict_proba(X),
        )
        scores.loc[factor] += [log_loss(test["diagnosis"], p) / DRAWS for p in predicted]
scores.round(3)

# %%
figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
for name, colour in zip(scores, ("#0072B2", "#D55E00", "0.5"), strict=True):
    axes.plot(factors, scores[name], "o-", color=colour, label=name)
axes.axhline(
    log_loss(
        test["diagnosis"],
        np.tile(train["diagnosis"].value_counts(normalize=True), (len(test), 1)),
    ),
    color="k",
    linestyle=":",
    linewidth=1,
)
axes.text(1.0, 0.72, "class frequencies only", fontsize="small")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks(factors, [f"{factor:g}" for factor in factors])
axes.set_yticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
axes.minorticks_off()
axes.set_xlabel("errors, multiplied by")
axes.set_ylabel("NLL on 228 samples")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# NLL is the mean of −ln P(true class); lower is better. The dotted line is the NLL of a
# model that gives every sample the class frequencies of the training samples. With errors
# ten times as large, logistic regression is far worse than this line, because it gives high
# probabilities to wrong classes. MGP is better than the line, and NIMGP better still.
#
# The next picture shows how the probabilities of one test sample change when only its
# errors change.

# %%
p = P["malignant"]
sample = test.loc[[(p - 0.9).abs().idxmin()]]
scales = np.linspace(0.0, 10.0, 21)
repeated = pd.concat([sample] * len(scales))
curve = nimgp.predict_proba(
    repeated[means], X_var=((scales[:, None] * repeated[errors]) ** 2).to_numpy()
)
figure, axes = plt.subplots(figsize=(5.2, 3.0), layout="constrained")
colours = plots.class_colours(list(model.classes_))
for c, name in enumerate(model.classes_):
    axes.plot(scales, curve[:, c], color=colours[name], linewidth=2, label=name)
axes.set_xlabel("errors, multiplied by")
axes.set_ylabel("probability")
axes.set_ylim(0, 1)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Next
#
# `fit_rows` and `predict_rows`, or the command `fermiclass train-rows`, work with more rows
# than memory holds. `fc.UncertainGPRegressor` predicts numbers instead of classes. See
# `docs/other-data.md`.

# %%
plt.close("all")

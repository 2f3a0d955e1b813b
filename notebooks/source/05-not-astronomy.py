# %% [markdown]
# # The core on other data: pandas and scikit-learn
#
# `NIMGPClassifier` knows nothing of astronomy. It takes inputs and the variances of their
# errors, and is a scikit-learn estimator. Here it looks at cells: the Wisconsin breast
# cancer data give, for 569 tissue samples, the mean of ten properties over many cell
# nuclei, *and the standard error of that mean*.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn import set_config
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermiclass as fc
from fermiclass import plots

frame = load_breast_cancer(as_frame=True).frame
frame["diagnosis"] = np.where(frame["target"] == 1, "benign", "malignant")
means = [name for name in frame if name.startswith("mean ")]
errors = [name.removeprefix("mean ") + " error" for name in means]
frame[[means[0], errors[0], means[1], errors[1], "diagnosis"]].head(4)

# %% [markdown]
# ## Fit and predict
#
# Beside `X` and `y` comes `X_var`, the squares of the errors, with the same shape and in
# the same units squared. The classifier standardises both by itself.

# %%
train, test = train_test_split(
    frame, test_size=0.4, stratify=frame["diagnosis"], random_state=0
)
model = fc.NIMGPClassifier().fit(
    train[means], train["diagnosis"], X_var=(train[errors] ** 2).to_numpy()
)
P = pd.DataFrame(
    model.predict_proba(test[means], X_var=(test[errors] ** 2).to_numpy()),
    test.index,
    model.classes_,
)
P.join(test["diagnosis"]).head(5).round(3)

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
# ## In a pipeline
#
# scikit-learn hands further arguments such as `X_var` through a pipeline if it is told to
# (metadata routing). One thing to remember: the variances must be those of what the
# classifier sees. A step that picks columns is fine; after one that rescales them, the
# variances would have to be rescaled, too.

# %%
set_config(enable_metadata_routing=True)
pipeline = make_pipeline(
    make_column_transformer(("passthrough", means)),
    fc.NIMGPClassifier().set_fit_request(X_var=True).set_predict_proba_request(X_var=True),
)
pipeline.fit(train, train["diagnosis"], X_var=(train[errors] ** 2).to_numpy())
same = pipeline.predict_proba(test, X_var=(test[errors] ** 2).to_numpy())
print("the same probabilities as before:", bool(np.allclose(same, P, atol=1e-5)))

# %% [markdown]
# ## When do error bars matter?
#
# Here, not as they are: so many nuclei were measured that the errors are small beside the
# differences between samples, and a model that ignores them is as good. So let us ask what
# a hurried laboratory would get that looks at a quarter, a sixteenth, a hundredth of the
# nuclei. Its errors are 2, 4 and 10 times larger, and **we add the noise by random
# numbers**: this part is a simulation on top of real data. All models have learned from the
# careful measurements. By default errors are limited to what suits catalogues;
# `max_noise=None` takes them as they are.

# %%
told = fc.NIMGPClassifier(max_noise=None).fit(
    train[means], train["diagnosis"], X_var=(train[errors] ** 2).to_numpy()
)
not_told = fc.NIMGPClassifier("mgp").fit(train[means], train["diagnosis"])
logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(
    train[means], train["diagnosis"]
)

rng = np.random.default_rng(0)
factors = [1.0, 2.0, 4.0, 10.0]
scores = pd.DataFrame(
    0.0,
    pd.Index(factors, name="errors, times"),
    ["NIMGP, told", "MGP, not told", "logistic regression"],
)
DRAWS = 5
for factor in factors:
    X_var = ((factor * test[errors]) ** 2).to_numpy()
    for _ in range(DRAWS):
        added = np.sqrt(factor**2 - 1.0) * test[errors].to_numpy()
        X = test[means] + added * rng.standard_normal(added.shape)
        predicted = (
            told.predict_proba(X, X_var=X_var),
            not_told.predict_proba(X),
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
axes.text(1.0, 0.72, "knowing nothing but the shares", fontsize="small")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks(factors, [f"{factor:g}" for factor in factors])
axes.set_yticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
axes.minorticks_off()
axes.set_xlabel("errors, in units of the careful measurement's")
axes.set_ylabel("NLL on 228 samples")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# With errors ten times as large logistic regression is sure of wrong things, and far worse
# than knowing nothing; MGP is no better than knowing nothing; the model that is told has
# become unsure, and still has something to say. One sample, its errors growing:

# %%
p = P["malignant"]
sample = test.loc[[(p - 0.9).abs().idxmin()]]
scales = np.linspace(0.0, 10.0, 21)
repeated = pd.concat([sample] * len(scales))
curve = told.predict_proba(
    repeated[means], X_var=((scales[:, None] * repeated[errors]) ** 2).to_numpy()
)
figure, axes = plt.subplots(figsize=(5.2, 3.0), layout="constrained")
colours = plots.class_colours(list(model.classes_))
for c, name in enumerate(model.classes_):
    axes.plot(scales, curve[:, c], color=colours[name], linewidth=2, label=name)
axes.set_xlabel("errors, in units of the careful measurement's")
axes.set_ylabel("probability")
axes.set_ylim(0, 1)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# More rows than memory holds: `fit_rows` and `predict_rows`, or `fermiclass train-rows`.
# Regression with uncertain inputs and outputs: `fc.UncertainGPRegressor`.

# %%
set_config(enable_metadata_routing=False)
plt.close("all")

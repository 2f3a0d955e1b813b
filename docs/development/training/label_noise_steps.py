"""Learned label noise and bound of `outliers` by the number of training steps: all but one fold, and two folds."""

import numpy as np
from sklearn.base import clone

from fermiclass import read_catalog
from fermiclass.analysis.outliers import default_recipe
from fermiclass.labelling.training import estimator_of
from fermiclass.nimgp.estimators.folds import stratified_folds

r = default_recipe()
t = r.check(read_catalog("catalogs/4FGL-DR4.fits.gz")).of_one_class
e = estimator_of(r)
sp = stratified_folds(t.y, 5, 0)
a = sp[0][0]
for n in (250, 500, 1000, 2000):
    f = clone(e).set_params(steps=n).fit(t.X[a], t.y[a], X_var=t.X_var[a], sample_weight=t.weight[a])
    print("rows", len(a), "steps", n, f.label_noise_, f.objective_[-1] * 1)
h = np.sort(np.concatenate([x for _, x in sp[3:]]))
for n in (250, 500, 1000):
    f = clone(e).set_params(steps=n).fit(t.X[h], t.y[h], X_var=t.X_var[h], sample_weight=t.weight[h])
    print("rows", len(h), "steps", n, f.label_noise_, f.objective_[-1])

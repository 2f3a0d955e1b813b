"""Names of several feature sets in one evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from fermiclass.errors import FeatureError


def name_feature_sets(features: str | Sequence[str]) -> dict[str, str]:
    """Return the feature sets by a short name, in the order given.

    A set or a single feature keeps its name. Lists of names separated by commas are called ``list1``, ``list2`` and so
    on.

    Parameters
    ----------
    features
        A string for :func:`fermiclass.features.parse_features`, or several: ``"six"``,
        ``["six", "ln_Flux1000,LP_beta"]``.

    Raises
    ------
    FeatureError
        When no set is named, or one set is named twice.
    """
    specs = [features] if isinstance(features, str) else list(features)
    if not specs:
        raise FeatureError("no features are named: give at least one set, such as six")
    sets: dict[str, str] = {}
    lists = 0
    for spec in specs:
        names = [part.strip() for part in spec.split(",") if part.strip()]
        cleaned = ",".join(names)
        if cleaned in sets.values():
            raise FeatureError(f"the features '{cleaned}' are named more than once: name each set once")
        lists += len(names) > 1
        sets[f"list{lists}" if len(names) > 1 else cleaned] = cleaned
    return sets

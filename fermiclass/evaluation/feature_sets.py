"""Several feature sets side by side: what each of them is called."""

from __future__ import annotations

from collections.abc import Sequence

from fermiclass.errors import FeatureError


def name_feature_sets(features: str | Sequence[str]) -> dict[str, str]:
    """Return the sets that `features` names, by a short name of each, in the order given.

    A set or a single feature is called what it is called; lists of names separated by commas are ``list1``, ``list2``
    and so on.

    Parameters
    ----------
    features
        What :func:`fermiclass.features.parse_features` takes as a string, or several such strings: ``"six"``,
        ``["six", "ln_Flux1000,LP_beta"]``.

    Raises
    ------
    FeatureError
        When no set is named, or one twice.
    """
    specs = [features] if isinstance(features, str) else list(features)
    if not specs:
        raise FeatureError("no features named: give one set at least, such as six")
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

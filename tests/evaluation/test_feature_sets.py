"""What several sets of features are called."""

import pytest

from fermiclass.errors import FeatureError
from fermiclass.evaluation import name_feature_sets


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("six", {"six": "six"}),
        (["six", "extended"], {"six": "six", "extended": "extended"}),
        ("LP_beta, Npred", {"list1": "LP_beta,Npred"}),
        (["six,Npred", "LP_beta", "a,b"], {"list1": "six,Npred", "LP_beta": "LP_beta", "list2": "a,b"}),
    ],
)  # fmt: skip
def test_names(features, expected):
    assert name_feature_sets(features) == expected
    assert list(name_feature_sets(features)) == list(expected)


def test_each_set_once():
    with pytest.raises(FeatureError, match="features 'LP_beta,Npred' are named more than once"):
        name_feature_sets(["LP_beta,Npred", "six", " LP_beta, Npred"])


def test_one_set_at_least():
    with pytest.raises(FeatureError, match="give at least one set"):
        name_feature_sets([])

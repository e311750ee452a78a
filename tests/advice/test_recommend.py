"""The rules of recommendations: which grouping, how many workers, when no grouping is needed."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice import combined_by_spark, measure, recommend
from tests.advice.conftest import predicted, sample_of


@pytest.fixture(scope="module")
def skew():
    return measure(sample_of("country-skew-r30"))


def recommended(skew, predictions, *, groupings=None, combined=False, asked=(10,)):
    names = [each.grouping for each in predictions] if groupings is None else groupings
    return recommend(skew, predictions, asked, groupings=names, combined=combined)


UNEVEN = [predicted(10, "sg", 1.0, 9.0), predicted(10, "kg", 3.0)]


def test_of_balanced_groupings_the_one_that_replicates_least(skew):
    others = [predicted(10, "dchoices", 1.0, 2.1), predicted(10, "planned", 1.02, 1.1)]
    advised = recommended(skew, [*UNEVEN, *others])
    assert (advised.grouping, advised.workers) == ("planned", 10)
    assert "1.02 times the mean" in advised.reasons[0]
    assert "Placed by key, the maximum load is 3.00" in advised.reasons[0]
    assert "a key is on 9.00 workers" in advised.reasons[0]


def test_of_equal_replication_the_most_balanced(skew):
    others = [predicted(10, "a", 1.05, 1.1), predicted(10, "b", 1.01, 1.105)]
    assert recommended(skew, [*UNEVEN, *others]).grouping == "b"


def test_the_most_balanced_if_none_is_balanced(skew):
    others = [predicted(10, "pkg", 1.5, 1.6), predicted(10, "dkg", 1.3, 2.0)]
    advised = recommended(skew, [*UNEVEN, *others], groupings=["pkg", "dkg"])
    assert advised.grouping == "dkg"


def test_none_is_needed_without_skew(skew):
    advised = recommended(skew, [predicted(10, "sg", 1.0, 9.0), predicted(10, "kg", 1.1)])
    assert advised.grouping is None
    assert not advised.combined
    assert advised.reasons[0].startswith("No grouping is needed on 10 workers")


def test_none_is_needed_if_spark_combines(skew):
    advised = recommended(skew, UNEVEN, combined=True)
    assert advised.grouping is None
    assert "Spark combines this aggregate before the shuffle" in advised.reasons[0]


def test_the_fewest_workers_that_are_nearly_fastest(skew):
    predictions = [
        each
        for workers, kg, pkg in ((4, 1.05, 1.0), (8, 2.0, 1.02), (9, 2.2, 1.1), (16, 8.0, 4.0))
        for each in (
            predicted(workers, "sg", 1.0, 4.0),
            predicted(workers, "kg", kg),
            predicted(workers, "pkg", pkg, 1.5),
        )
    ]
    advised = recommended(skew, predictions, groupings=["pkg"], asked=(16, 4, 8, 9))
    assert (advised.grouping, advised.workers) == ("pkg", 8)
    assert "On 4 workers no grouping would be needed." in advised.reasons


def test_more_workers_are_mentioned(skew):
    more = [predicted(20, "sg", 1.0, 9.0), predicted(20, "kg", 6.0), predicted(20, "planned", 1.0)]
    advised = recommended(skew, [*UNEVEN, predicted(10, "planned", 1.0), *more])
    assert "20 workers with planned would take 50 % of the time" in " ".join(advised.reasons)


@pytest.mark.parametrize(
    ("workers", "said"), [(3, None), (5, "more than 1/p1"), (10, "more than 2/p1")]
)
def test_more_workers_than_the_hottest_key_allows(skew, workers, said):
    assert 3 < skew.most_workers(1) < 4
    predictions = [predicted(workers, "sg", 1.0), predicted(workers, "kg", 3.0)]
    reasons = " ".join(recommended(skew, predictions, asked=(workers,)).reasons)
    assert ("/p1" in reasons) == (said is not None)
    assert (said or "") in reasons


def test_few_messages_are_mentioned(skew):
    predictions = [predicted(30, "sg", 1.0), predicted(30, "kg", 1.0)]
    reasons = recommended(skew, predictions, asked=(30,)).reasons
    assert "2000 messages are few for 30 workers" in " ".join(reasons)


def test_aggregates_that_spark_combines():
    algebraic = ("count", "sum(column=a)", "mean(column=a)")
    assert [combined_by_spark(each) for each in (*algebraic, "top-k(k=3)", None)] == (
        [True, True, True, False, False]
    )
    with pytest.raises(
        ConfigurationError, match="there are: count, heavy-hitters, histogram, mean"
    ):
        combined_by_spark("median")


def test_none_is_recommended_that_is_hardly_faster(skew):
    predictions = [predicted(10, "sg", 1.0, 9.0), predicted(10, "kg", 1.3)]
    advised = recommended(skew, [*predictions, predicted(10, "pkg", 1.28)], groupings=["pkg"])
    assert advised.grouping is None
    assert advised.reasons[0] == (
        "No grouping is needed on 10 workers: placed by key, as Spark does it, the maximum load is "
        "1.30 times the mean, and no grouping is 1.05x faster."
    )
    advised = recommended(skew, [*predictions, predicted(10, "pkg", 1.2)], groupings=["pkg"])
    assert advised.grouping == "pkg"


def test_more_workers_are_not_mentioned_if_they_do_not_help(skew):
    more = [predicted(20, "sg", 1.0, 9.0), predicted(20, "kg", 6.0), predicted(20, "pkg", 2.0)]
    advised = recommended(skew, [*UNEVEN, predicted(10, "pkg", 1.0), *more], groupings=["pkg"])
    assert "20 workers" not in " ".join(advised.reasons)

"""The simulator equals its naive version, for any grouping, estimation and feed."""

from __future__ import annotations

import mmh3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core import metrics
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_longs
from evenkey.core.streams import generated
from evenkey.groupings import available, parse
from evenkey.simulation import Setting, simulate, simulate_all
from tests.simulation import naive
from tests.simulation.streams import ListStream, list_streams

WORKERS = 4
QUICK = "dkg(warm_up=5,teenage_period=10)"  # keys become old within these short streams
GROUPINGS = (*sorted(available()), QUICK)
units = st.sampled_from(["messages", "weights"])
PROBED = [each for each in GROUPINGS if "sent" in parse(each).router(1).local_fields]


def twin_messages(stream, route_by, observe_by):
    ids, times, counts, senders = zip(*stream.messages, strict=True)
    keys = hash_longs(np.array(ids)).tolist()
    froms = keys if None in senders else hash_longs(np.array(senders)).tolist()
    ones = [1] * len(ids)
    weights, observed = (counts if by == "weights" else ones for by in (route_by, observe_by))
    return list(zip(keys, times, weights, froms, observed, strict=True))


def assert_alike(
    stream, grouping, estimation, feed, sources, readers, route_by="messages", observe_by="messages"
):
    report = simulate(
        stream,
        grouping,
        workers=WORKERS,
        sources=sources,
        readers=readers,
        feed=feed,
        estimation=estimation,
        route_by=route_by,
        observe_by=observe_by,
        agreement=True,
        samples=1000,
    )
    messages = twin_messages(stream, route_by, observe_by)
    arguments = messages, parse(grouping), WORKERS, sources, feed
    probing = 30.0 if estimation == "probing(30)" else None
    decisions, loads, imbalances, own = naive.simulate(
        *arguments, readers=readers, one=estimation == "global", probing=probing
    )
    known, *_ = naive.simulate(*arguments, readers=readers, one=True)
    keys = [key for key, *_ in messages]
    assert report.loads.tolist() == loads.tolist()
    assert report.series["imbalance"].to_pylist() == pytest.approx(imbalances)
    assert report.series["local_imbalance"].to_pylist() == pytest.approx(own)
    assert report.series["seconds"].to_pylist() == [time for _, time, *_ in messages]
    assert report.average_imbalance == pytest.approx(np.mean(imbalances))
    pairs = set(enumerate(decisions)), set(enumerate(known))
    assert report.agreement is not None
    assert report.agreement.jaccard == len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1])
    assert report.agreement.disagreement == pytest.approx(np.not_equal(decisions, known).mean())
    assert report.pairs == len(set(zip(keys, decisions, strict=True)))
    assert (report.keys, report.messages) == (len(set(keys)), len(keys))


@pytest.mark.slow(6)
@settings(max_examples=100)
@given(
    stream=list_streams(),
    grouping=st.sampled_from(GROUPINGS),
    estimation=st.sampled_from(["local", "global"]),
    feed=st.sampled_from(["shuffle", "key"]),
    sources=st.integers(1, 5),
    readers=st.integers(1, 7),
    route_by=units,
    observe_by=units,
)
def test_it_is_its_twin(stream, grouping, estimation, feed, sources, readers, route_by, observe_by):
    assert_alike(stream, grouping, estimation, feed, sources, readers, route_by, observe_by)


@pytest.mark.slow(5)
@settings(max_examples=30)
@given(
    stream=list_streams(senders=True),
    grouping=st.sampled_from(PROBED),
    feed=st.sampled_from(["shuffle", "key"]),
    route_by=units,
    observe_by=units,
)
def test_probing_and_senders(stream, grouping, feed, route_by, observe_by):
    assert_alike(stream, grouping, "probing(30)", feed, 3, 1, route_by, observe_by)


@pytest.mark.parametrize("feed", ["shuffle", "key"])
@pytest.mark.parametrize("grouping", ["sg", "kg", "pkg", "dkg"])
def test_imbalance_never_exceeds_the_sum_of_the_sources_own(grouping, feed):
    stream = generated("zipf(z=1.2,keys=300)", messages=20_000)
    report = simulate(stream, grouping, workers=7, feed=feed, samples=20_000)
    imbalance, own = (report.series[name].to_numpy() for name in ("imbalance", "local_imbalance"))
    assert (imbalance <= own + 1e-6).all()
    assert own.max() > 0
    assert report.average_imbalance == pytest.approx(imbalance.mean())


def test_one_source_shuffles_in_turn():
    stream = generated("country-skew-r80", messages=5000)
    report = simulate(stream, "sg", workers=7, sources=1, samples=5000)
    assert max(report.series["imbalance"].to_pylist()) <= 1


def test_figures_are_the_metrics_of_the_loads():
    stream = generated("zipf(z=1.4,keys=300)", messages=3000)
    report = simulate(stream, "pkg", workers=9)
    figures = report.to_json(cost_ms=0.5)
    for name in ("max_over_mean", "imbalance_fraction", "stddev_percent"):
        assert figures[name] == getattr(metrics, name)(report.loads)
    assert figures["dist_cost"] == report.pairs / report.keys
    assert figures["average_imbalance_fraction"] == report.average_imbalance / 3000
    assert figures["makespan_ms"] == 0.5 * max(figures["loads"])
    assert figures["rejected"] == 0  # a generated stream has no rejected lines
    assert figures["messages_per_second"] == pytest.approx(3000 / (figures["makespan_ms"] / 1000))
    assert report.to_json(cost_ms=0)["messages_per_second"] is None
    with pytest.raises(ConfigurationError, match="cost_ms = -1"):
        report.to_json(cost_ms=-1)


def test_hash_of_the_papers_puts_keys_where_their_programs_do():
    stream = generated("country-skew-r0", messages=20_000)
    report = simulate(stream, "kg", workers=10, hash="murmur3")
    names = stream.texts(stream.ids(0, 20_000)).to_pylist()
    workers = [abs(mmh3.hash64(name, 13)[0]) % 10 for name in names]  # Math.abs(hash) % n
    assert report.loads.tolist() == np.bincount(workers, minlength=10).tolist()


def test_hash_of_the_papers_moves_keys_but_counts_the_same():
    stream = generated("country-skew-r30", messages=3000)
    reports = [simulate(stream, "kg", hash=name) for name in ("xxhash64", "murmur3")]
    assert reports[0].loads.tolist() != reports[1].loads.tolist()
    assert reports[0].keys == reports[1].keys == reports[1].pairs


def test_a_stream_without_messages_has_figures():
    report = simulate(ListStream([]), "dkg", workers=3, agreement=True, epoch_messages=5)
    figures = report.to_json()
    assert (figures["messages"], figures["max_over_mean"], figures["dist_cost"]) == (0, 1.0, 1.0)
    assert figures["agreement"] == {"jaccard": 1.0, "disagreement": 0.0}
    assert report.series.num_rows == 0


def test_progress_counts_messages():
    reported: list[int] = []
    stream = ListStream([(i, i, 1, None) for i in range(10)], cuts=[4])
    simulate(stream, "kg", on_progress=reported.append)
    assert reported == [4, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grouping": "pgk"}, "did you mean 'pkg'"),
        ({"workers": 0}, "workers = 0"),
        ({"sources": 0}, "sources = 0"),
        ({"readers": 0}, "readers = 0: there must be at least 1 reader"),
        ({"samples": 0}, "samples = 0"),
        ({"epoch_messages": 0}, "epoch_messages = 0"),
        ({"feed": "keys"}, "unknown feed 'keys' .did you mean 'key'"),
        ({"route_by": "records"}, "unknown route_by 'records'"),
        ({"observe_by": "weight"}, "unknown observe_by 'weight' .did you mean 'weights'"),
        ({"hash": "md5"}, "unknown hash 'md5'"),
        ({"estimation": "globe"}, "unknown estimation 'globe'"),
        ({"estimation": "probing(0)"}, "above 0 seconds"),
        ({"estimation": "probing(60)"}, "kg does not use loads"),
        ({"estimation": "probing(60)", "grouping": "sg"}, "sg does not use loads"),
    ],
)
def test_bad_settings(options, message):
    stream = generated("uniform(keys=3)", messages=3)
    with pytest.raises(ConfigurationError, match=message):
        simulate(stream, **{"grouping": "kg", **options})


def test_figures_that_are_not_counted_are_null_and_others_are_unchanged():
    stream = generated("zipf(z=1.2,keys=100)", messages=5000)
    counted, not_counted = (
        simulate(stream, "pkg", workers=7, epoch_messages=900, replication=each).to_json()
        for each in (True, False)
    )
    clocks = {"seconds", "routing_messages_per_second"}
    changed = {name for name in counted if counted[name] != not_counted[name]} - clocks
    of_keys = {"keys", "pairs", "dist_cost", "dist_cost_lower_bound", "cardinality_imbalance",
               "key_split_ratio", "moved_keys", "moved_load"}  # fmt: skip
    of_epochs = {f"epoch_{name}" for name in of_keys - {"keys", "pairs"}}
    assert changed == of_keys | of_epochs
    assert {not_counted[name] for name in of_keys} == {None}
    assert [not_counted[name] for name in of_epochs] == [{"p50": None, "max": None}] * 6


@pytest.mark.slow(2)
@settings(max_examples=30)
@given(stream=list_streams(), pairs=st.lists(st.tuples(st.sampled_from(GROUPINGS),
       st.sampled_from([None, 1, 3, 7])), min_size=2, max_size=4))  # fmt: skip
def test_settings_of_one_pass_are_those_of_their_own(stream, pairs):
    chosen = [
        Setting(each, workers=WORKERS, sources=2, epoch_messages=messages)
        for each, messages in pairs
    ]
    together = simulate_all(stream, chosen)
    alone = [simulate_all(stream, [each])[0] for each in chosen]
    assert [each.setting for each in together] == [each.setting for each in alone]
    assert [each.metrics for each in together] == [each.metrics for each in alone]
    assert [each.epochs for each in together] == [each.epochs for each in alone]
    assert [each.series for each in together] == [each.series for each in alone]


def test_a_pass_needs_a_setting_and_tells_how_far_it_is():
    stream = generated("uniform(keys=5)", messages=150_000)
    with pytest.raises(ConfigurationError, match="at least one Setting"):
        simulate_all(stream, [])
    done: list[int] = []
    simulate_all(stream, [Setting("kg"), Setting("planned", epoch_messages=100_000)],
                 on_progress=done.append)  # fmt: skip
    assert done == sorted(done)
    assert done[-1] == 150_000

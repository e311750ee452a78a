"""Lines of InfluxDB's protocol, compared with InfluxDB's own client."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from influxdb.line_protocol import make_lines

from evenkey.pipeline.exporters.line_protocol import line, lines
from tests.exporters.records import JOIN, RUN, join_record, record

texts = st.text(st.sampled_from("ab,= \"\\'é/"))
values = st.one_of(texts, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))


@given(
    tags=st.dictionaries(st.sampled_from(["a", "b"]), texts),
    fields=st.dictionaries(st.sampled_from(["x", "y", "z"]), values, min_size=1),
    at=st.integers(0, 2**50),
)
def test_lines_equal_those_of_the_client(tags, fields, at):
    # The client doubles backslashes in tags, and InfluxDB reads them as two.
    tags = {name: text.replace("\\", "/") for name, text in tags.items()}
    point = {"measurement": "m", "tags": tags, "fields": fields, "time": at}
    ours = line("m", dict(sorted(tags.items())), dict(sorted(fields.items())), at)
    assert ours == make_lines({"points": [point]}).rstrip("\n")


def test_line_ends_and_backslashes_in_tags_are_replaced():
    assert line("m", {"run": "a\nb\\"}, {"x": 1}, 5) == r"m,run=a\ b/ x=1i 5"


def test_a_join_has_its_own_fields():
    epoch, first, _ = lines(JOIN, join_record(1))
    assert "mldc=0.4," in epoch
    assert ",moved_partitions=3i,epoch_moved_partitions=3i," in epoch
    assert first.endswith(
        "worker=0 loads=140000i,epoch_loads=70000i,static_partitions=4i 1700000001250"
    )


def test_a_record_is_a_point_per_epoch_worker_and_hot_key():
    written = lines(RUN, record(7))
    assert [each.partition(",")[0] for each in written] == [
        *("evenkey_epoch", "evenkey_worker", "evenkey_worker"),
        *("evenkey_hot_key", "evenkey_hot_key"),
    ]
    assert written[1] == (
        r"evenkey_worker,run=dkg-1,dataset=country-skew-r80,grouping=dkg(warm_up\=5),worker=0 "
        "loads=480i,epoch_loads=60i 1700000007250"
    )
    assert (
        'key="a \\"b\\"",messages=2i,share_percent=2.0,pool=1i,run_workers=2i,workers="1"'
        in written[4]
    )


def test_an_epoch_of_another_number_of_workers_has_its_own_points():
    # For example, a process committed it late, after the run had continued with two workers.
    written = lines(RUN, record(loads=(1, 2, 3), epoch_loads=(1, 2, 3)))
    points = [each for each in written if each.startswith("evenkey_worker")]
    assert [each.split()[1] for each in points] == [
        f"loads={n}i,epoch_loads={n}i" for n in (1, 2, 3)
    ]
    (only,) = (
        each for each in lines(RUN, record(loads=(7,), epoch_loads=(7,))) if "_worker," in each
    )
    assert "worker=0 loads=7i" in only

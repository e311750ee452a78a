"""Latencies of publications are those of a clock that goes from publication to publication."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe import JoinConfig
from evenkey.papers.publish_subscribe.publication_latency import latencies


@given(
    works=st.lists(st.integers(1, 900), min_size=1, max_size=6),
    of_epoch=st.integers(1, 5),
    missing=st.integers(0, 4),
    gap=st.integers(1, 300),
)
def test_a_publication_waits_for_its_epoch_and_for_earlier_ones(works, of_epoch, missing, gap):
    """An epoch is ready with its last publication, and begins when the previous one has ended."""
    publications = len(works) * of_epoch - min(missing, of_epoch - 1)
    began = now = 5000  # the source's process has started
    offered = began + min(of_epoch, publications) * gap
    ended, expected = {}, []
    for epoch, work in enumerate(works):
        numbers = range(epoch * of_epoch, min(publications, (epoch + 1) * of_epoch))
        arrivals = [began + (number + 1) * gap for number in numbers]
        now = max(now, arrivals[-1]) + work
        ended[epoch] = float(now)
        expected += [now - arrival for arrival in arrivals]
    found = latencies(
        ended, offered=offered, rate=1000 / gap, of_epoch=of_epoch, publications=publications
    )
    assert found.tolist() == pytest.approx(expected)


def test_publications_of_files_do_not_arrive_at_a_rate(tmp_path):
    with pytest.raises(ConfigurationError, match="arrival_rate = 9: publications of files"):
        JoinConfig(input=tmp_path, arrival_rate=9)
    with pytest.raises(ConfigurationError, match=r"arrival_rate = 9\.0"):
        JoinConfig(kafka="127.0.0.1:9092/publications", arrival_rate=9)

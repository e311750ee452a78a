"""Streams for tests, given as lists of messages and cut into any batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from evenkey.core.hashing import hash_longs
from evenkey.core.streams import MessageBatch


class ListStream:
    """A stream of messages (id, time, count, sender or None), cut into batches at `cuts`."""

    name = "list"

    def __init__(self, messages, cuts=()):
        self.messages = messages
        self.cuts = sorted({0, *(cut for cut in cuts if cut < len(messages)), len(messages)})

    def batches(self, size=0):
        del size
        for start, stop in pairwise(self.cuts):
            ids, times, counts, senders = zip(*self.messages[start:stop], strict=True)
            yield MessageBatch(
                np.array(ids, dtype=np.int64),
                hash_longs(np.array(ids)),
                np.array(counts, dtype=np.int64),
                np.array(times, dtype=np.float64),
                None if None in senders else hash_longs(np.array(senders)),
            )

    def texts(self, ids):
        return pa.array([f"key {each}" for each in ids])


@st.composite
def list_streams(draw, *, senders=False):
    """Draw a stream of up to 60 messages over up to 300 seconds, with a few frequent keys."""
    size = draw(st.integers(1, 60))
    ids = st.lists(st.one_of(st.just(0), st.integers(0, 20)), min_size=size, max_size=size)
    times = st.lists(st.floats(0, 300, width=32), min_size=size, max_size=size)
    counts = st.lists(st.integers(1, 9), min_size=size, max_size=size)
    froms = st.lists(st.integers(0, 5), min_size=size, max_size=size)
    sent = draw(froms) if senders else [None] * size
    messages = list(zip(draw(ids), sorted(draw(times)), draw(counts), sent, strict=True))
    return ListStream(messages, draw(st.lists(st.integers(1, 59), max_size=5)))

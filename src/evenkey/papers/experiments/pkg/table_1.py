"""PKG, table 1: the data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from evenkey.papers.experiments import Experiment, Frame, KeyShare, Scale, published
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, ZIPF_MESSAGES, dataset, zipf
from evenkey.reports.pictures import Axis, Chart, Column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ZIPF_KEYS = (1_000, 10_000, 100_000, 1_000_000)


class DataSets(Experiment):
    id = "pkg-table-1"
    title = "The data sets of the PKG paper"
    summary = (
        "The real data sets cannot be had any more, or not here; synthetic streams stand in for "
        "them, with the published number of messages and keys and the published share of the "
        "most frequent key, p1. Keys are counted as they occur: a stream that is cut short has "
        "fewer of them. ZF is shown at z = 1; its p1 is the paper's formula."
    )

    table = "Data sets"
    columns = (
        Column("symbol", "Symbol"),
        Column("dataset", "Stream"),
        Column("paper_messages", "Messages, paper", ",d"),
        Column("messages", "Messages, ours", ",d"),
        Column("paper_keys", "Keys, paper", ",d"),
        Column("keys", "Keys, ours", ",d"),
        Column("paper_share", "p1, %, paper", ".2f"),
        Column("top_share_percent", "p1, %, ours", ".2f"),
    )
    note = ""
    charts = (
        Chart(
            "Share of the most frequent key, p1",
            Axis("symbol", "Data set", "category"),
            Axis("share", "p1, % of all messages", "log"),
            kind="bars",
            beside={"ours": "top_share_percent", "paper": "paper_share"},
        ),
    )

    def scenarios(self, scale: Scale) -> list[KeyShare]:
        real = [dataset(symbol, scale, quick=2) for symbol in STREAMS]
        zipfs = [zipf(1, keys, scale, quick=2) for keys in _ZIPF_KEYS]
        # Keys are only counted, so they need no names of their own, which take time to hash.
        return [KeyShare(replace(each, prefix="")) for each in (*real, *zipfs)]

    def labelled(self, frame: Frame) -> Frame:
        rows = dict(_rows())
        paper = [rows[stream] for stream in frame["dataset"]]
        return frame.join(pd.DataFrame(paper, index=frame.index))


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each stream and its row in the paper's table 1."""
    names = "symbol", "paper_messages", "paper_keys", "paper_share"
    for symbol, stream in STREAMS.items():
        paper = published(stream)
        values = [symbol, paper.messages, paper.keys, paper.top_percent]
        yield stream, dict(zip(names, values, strict=True))
    for keys in _ZIPF_KEYS:
        share = 100 / sum(1 / rank for rank in range(1, keys + 1))
        values = [f"ZF {keys:,}", ZIPF_MESSAGES, keys, share]
        yield f"zipf(z=1,keys={keys})", dict(zip(names, values, strict=True))

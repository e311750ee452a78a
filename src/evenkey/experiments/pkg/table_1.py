"""PKG, table 1: the data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from evenkey.experiments.dataset import published
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.frames import side_by_side
from evenkey.experiments.key_share import KeyShare
from evenkey.experiments.pkg.streams import STREAMS, ZIPF_MESSAGES, dataset, zipf
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["DataSets"]

_ZIPF_KEYS = (1_000, 10_000, 100_000, 1_000_000)


class DataSets(Experiment):
    """Messages, keys and the share of the most frequent key of each data set."""

    id: ClassVar[str] = "pkg-table-1"
    title: ClassVar[str] = "The data sets of the PKG paper"
    reference: ClassVar[str] = "PKG, table 1"
    summary: ClassVar[str] = (
        "The real data sets cannot be had any more, or not here; synthetic streams stand in for "
        "them, with the published number of messages and keys and the published share of the "
        "most frequent key, p1. Keys are counted as they occur: a stream that is cut short has "
        "fewer of them. ZF is shown at z = 1; its p1 is the paper's formula."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Count each stream once."""
        real = [KeyShare(dataset(symbol, scale, quick=2)) for symbol in STREAMS]
        return [*real, *(KeyShare(zipf(1, keys, scale, quick=2)) for keys in _ZIPF_KEYS)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """The paper's figures and ours side by side."""
        columns = [
            Column("symbol", "Symbol"),
            Column("dataset", "Stream"),
            Column("paper_messages", "Messages, paper", ",d"),
            Column("messages", "Messages, ours", ",d"),
            Column("paper_keys", "Keys, paper", ",d"),
            Column("keys", "Keys, ours", ",d"),
            Column("paper_share", "p1, %, paper", ".2f"),
            Column("top_share_percent", "p1, %, ours", ".2f"),
        ]
        return [Table("Data sets", columns, frame.join(_published(frame)))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """The share of the most frequent key."""
        both = frame.join(_published(frame))
        figures = side_by_side(both, "share", {"paper_share": "paper", "top_share_percent": "ours"})
        figure = chart(
            figures,
            x=Axis("symbol", "Data set", "category"),
            y=Axis("share", "p1, % of all messages", "log"),
            group="whose",
            legend="Figures",
            kind="bars",
        )
        return [Plot("Share of the most frequent key, p1", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The shares are the published ones."""
        both = frame.join(_published(frame))
        off = (both["top_share_percent"] - both["paper_share"]).abs().max()
        return [
            Finding(
                "The most frequent key has from 0.29 % (LJ) to 14.71 % (LN1) of the messages",
                f"ours differ by at most {off:.2f} percentage points",
                off < 0.2,
            )
        ]


def _published(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1 of the paper, on the rows of a frame."""
    rows = dict(_rows())
    return pd.DataFrame([rows[stream] for stream in frame["dataset"]], index=frame.index)


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    names = "symbol", "paper_messages", "paper_keys", "paper_share"
    for symbol, stream in STREAMS.items():
        paper = published(stream)
        values = [symbol, paper.messages, paper.keys, paper.top_percent]
        yield stream, dict(zip(names, values, strict=True))
    for keys in _ZIPF_KEYS:
        share = 100 / sum(1 / rank for rank in range(1, keys + 1))
        values = [f"ZF {keys:,}", ZIPF_MESSAGES, keys, share]
        yield f"zipf(z=1,keys={keys})", dict(zip(names, values, strict=True))

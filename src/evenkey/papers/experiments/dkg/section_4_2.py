"""DKG, section 4.2: which keys get more than two workers, and what the key space keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale
from evenkey.papers.experiments.dkg.pools_by_space import PoolsBySpace
from evenkey.reports.pictures import Column

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scenario

_MESSAGES, _RATE = 100_000, 250.0


class KeysWithMoreWorkers(Experiment):
    id = "dkg-section-4-2"
    title = "Keys with more than two workers, and entries of the key space"
    summary = (
        "Country streams of 400 s with 250 messages a second, 10 workers, one source routes by "
        "DKG; the pools are looked at every 5 s. Medians of three streams, in brackets minimum "
        "and maximum."
    )
    table = "Pools and entries"
    columns = (
        Column("skewness", "Skewness ratio, %", "d"),
        Column("pool_of_old", "Largest pool, keys that were old", ".0f"),
        Column("pool_of_others", "Largest pool, other keys", ".0f"),
        Column("entries", "Entries, mean", ".1f"),
        Column("grown", "Entries with more than two workers, mean", ".1f"),
        Column("over_grown", "Entries over those", ".1f"),
    )
    note = "Keys that were old: in the old space at one of the looks so far."

    def scenarios(self, scale: Scale) -> list[Scenario]:
        del scale
        return [
            PoolsBySpace(Dataset(f"country-skew-r{skewness}", _MESSAGES, _RATE))
            for skewness in (30, 80)
        ]

    def labelled(self, frame: Frame) -> Frame:
        skewness = frame["dataset"].str.extract(r"-r(\d+)", expand=False).astype(int)
        return frame.assign(skewness=skewness, over_grown=frame["entries"] / frame["grown"])

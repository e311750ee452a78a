"""DKG, figure 12: more workers."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame
from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.methods import PAPERS_METHODS
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis


class MoreWorkers(Comparison):
    id = "dkg-figure-12"
    title = "More workers"
    panels = "a to d"
    settings = tuple(Setting("twitter-election", workers=workers) for workers in (10, 50, 100))
    varied = Axis("workers", "Workers", "category")
    summary = "A look-alike of twitter-election, 5 sources."
    only_on_spark = (
        "Spark starts a task a worker in each epoch, which costs these cores some seconds with "
        "100 of them; where messages are few, as at scale quick, that is more than the workers "
        "save."
    )

    def simulated(self, frame: Frame) -> list[Finding]:
        spread = frame.pivot_table("stddev_percent", "workers", "method")
        max_load = (frame["max_over_mean"] / frame["workers"]).groupby(
            [frame["method"], frame["workers"]]
        ).mean().unstack()  # fmt: skip
        gain = {
            method: max_load.loc[method, 10] / max_load.loc[method, 100] for method in ("KG", "PKG")
        }
        order = ["SG", "DKG", "PKG", "KG"]
        return [
            Finding(
                "StdDev decreases for all methods as workers are added; KG has the highest, SG "
                "the lowest, DKG is much better than PKG",
                "in that order with "
                + ", ".join(
                    str(workers)
                    for workers, row in spread.iterrows()
                    if row.sort_values().index.tolist() == order
                )
                + " workers",
                all(row.sort_values().index.tolist() == order for _, row in spread.iterrows())
                and (spread.loc[100] <= spread.loc[10] + 0.01).all(),
            ),
            Finding(
                "More workers barely change the time that KG and PKG take when the skew is high",
                "ten times the workers lower the maximum load by a factor of "
                + " and ".join(f"{ratio:.2f} ({method})" for method, ratio in gain.items()),
                max(gain.values()) < 1.2,
            ),
        ]

    def measured(self, frame: Frame) -> list[Finding]:
        latency = frame.pivot_table("makespan_ms", "workers", "method")[PAPERS_METHODS]
        change = latency.loc[100] / latency.loc[10]
        slowest = latency.idxmax(axis="columns") == "KG"
        fastest = latency.idxmin(axis="columns") == "SG"
        return [
            Finding(
                "KG has the highest latency, SG the lowest, with any number of workers",
                f"KG is the slowest with {slowest.sum()}, SG the fastest with {fastest.sum()} of "
                f"{len(latency)} numbers of workers",
                slowest.all() and fastest.all(),
            ),
            Finding(
                "DKG's latency is better than PKG's",
                ", ".join(
                    f"{workers} workers: {row['DKG'] / 1000:.1f} s against {row['PKG'] / 1000:.1f}"
                    for workers, row in latency.iterrows()
                ),
                (latency["DKG"] < latency["PKG"]).all(),
            ),
            Finding(
                "More workers do not make KG and PKG faster when the skew is high",
                "with ten times the workers the time is "
                + " and ".join(f"{change[name]:.2f} ({name})" for name in ("KG", "PKG"))
                + " times that of ten",
                change[["KG", "PKG"]].min() > 0.8,
            ),
        ]

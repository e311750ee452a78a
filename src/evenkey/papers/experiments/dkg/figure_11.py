"""DKG, figure 11: each metric against the skewness."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame
from evenkey.papers.experiments.dkg.comparison import percent_more
from evenkey.papers.experiments.dkg.methods import PAPERS_METHODS
from evenkey.papers.experiments.dkg.skewness import Skewness

_HIGH = 40


class MetricsAgainstSkewness(Skewness):
    id = "dkg-figure-11"
    title = "Each metric against the skewness"
    panels = "a to d"
    summary = "Country streams, 5 sources, 10 workers."

    def simulated(self, frame: Frame) -> list[Finding]:
        spread = frame.pivot_table("stddev_percent", "skewness", "method")
        cost = frame.pivot_table("dist_cost", "skewness", "method")
        high = spread.loc[_HIGH:]
        common = cost.drop(index=100)
        return [
            Finding(
                "DKG has clearly better StdDev than PKG and KG after 30 % skewness",
                f"from {_HIGH} % on at most {high['DKG'].max():.1f} %, PKG at least "
                f"{high['PKG'].min():.1f} %, KG at least {high['KG'].min():.1f} %",
                (high["DKG"] < high[["PKG", "KG"]].min(axis=1)).all(),
            ),
            Finding(
                "PKG's StdDev increases with the skewness all the time",
                f"from {spread['PKG'].iloc[0]:.1f} to {spread['PKG'].iloc[-1]:.1f} %",
                high["PKG"].is_monotonic_increasing,
            ),
            Finding(
                "SG has the worst DistCost; the other methods are very similar, with a peak of "
                "DKG at 100 %",
                f"below 100 %: SG {common['SG'].min():.1f} or more, the others at most "
                f"{common[['KG', 'PKG', 'DKG']].to_numpy().max():.1f}; DKG at 100 %: "
                f"{cost.loc[100, 'DKG']:.1f}",
                common["SG"].min() > common[["KG", "PKG", "DKG"]].to_numpy().max()
                and cost["DKG"].idxmax() == 100,
            ),
        ]

    def measured(self, frame: Frame) -> list[Finding]:
        speed, latency = (
            frame.pivot_table(figure, "skewness", "method")
            for figure in ("messages_per_second", "makespan_ms")
        )
        high = speed.loc[80:90]
        most = (high["DKG"] / high["PKG"]).idxmax()
        skewed = speed.loc[60:90]
        fastest = speed[PAPERS_METHODS].idxmax(axis="columns") == "SG"
        return [
            Finding(
                "At 30 % skewness DKG has up to 8 % more throughput than PKG and up to 7 % less "
                "latency",
                _gain(speed, latency, 30),
                speed.loc[30, "DKG"] > speed.loc[30, "PKG"],
            ),
            Finding(
                "Above 80 % DKG has up to 93 % more throughput than PKG and up to 48 % less "
                "latency",
                f"{_gain(speed, latency, most)}, at {most} %",
                (high["DKG"] > 1.5 * high["PKG"]).all(),
            ),
            Finding(
                "When the skewness is above 30 % DKG has a better throughput than PKG and KG",
                ", ".join(
                    f"{skewness} %: {row['DKG']:,.0f}/s against {row['PKG']:,.0f} and "
                    f"{row['KG']:,.0f}"
                    for skewness, row in skewed.iterrows()
                ),
                (skewed["DKG"] > skewed[["PKG", "KG"]].max(axis="columns")).all(),
            ),
            Finding(
                "SG always has a higher throughput than the other methods",
                f"at {fastest.sum()} of {len(fastest)} skewness ratios",
                fastest.all(),
            ),
        ]


def _gain(speed: Frame, latency: Frame, skewness: float) -> str:
    throughput, time = (
        percent_more(figures.loc[skewness, "DKG"], figures.loc[skewness, "PKG"])
        for figures in (speed, latency)
    )
    return f"throughput {throughput}, latency {time}"

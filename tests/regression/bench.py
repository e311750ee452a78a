"""The quality regression bench: scenarios with frozen figures, and allowed differences."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import evenkey.papers  # noqa: F401 - registers its groupings and data sets
from evenkey.core.streams import generated
from evenkey.groupings import available, parse
from evenkey.simulation import simulate

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
_BENCH = tomllib.loads((HERE / "scenarios.toml").read_text("utf-8"))

TOLERANCES: dict[str, dict[str, float]] = _BENCH["tolerances"]
EXCUSES: dict[str, str] = _BENCH["excuses"]


class Scenario(NamedTuple):
    """One grouping on one stream; `options` are arguments of `simulate`."""

    dataset: str
    messages: int
    grouping: str
    options: dict[str, Any]

    def measure(self) -> dict[str, float]:
        """Simulate a scenario, and return the figures that are compared."""
        stream = generated(self.dataset, messages=self.messages)
        figures = _flat(simulate(stream, self.grouping, **self.options).to_json())
        return {metric: figures[metric] for metric in TOLERANCES if metric in figures}


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios, by their permanent names."""
    found = {}
    for table in _BENCH["scenarios"]:
        options = dict(table)
        name, dataset, messages, groupings = map(
            options.pop, ("name", "dataset", "messages", "groupings")
        )
        for grouping in groupings:
            found[f"{name}/{grouping}"] = Scenario(dataset, messages, grouping, options)
    return found


def frozen() -> dict[str, dict[str, float]]:
    """Return the frozen figures of each scenario."""
    figures: dict[str, dict[str, float]] = json.loads(FIGURES.read_text("utf-8"))
    return figures


def freeze() -> None:
    """Measure every scenario, and store its figures."""
    rows = [
        f"  {json.dumps(name)}: {json.dumps(_rounded(scenario.measure()))}"
        for name, scenario in sorted(scenarios().items())
    ]
    FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def differences(before: dict[str, float], now: dict[str, float]) -> dict[str, str]:
    """Return the metrics that differ too much from the frozen figures."""
    return {
        metric: f"was {before[metric]:g}, is {now[metric]:g}"
        for metric, allowed in TOLERANCES.items()
        if metric in before
        and abs(now[metric] - before[metric])
        > max(allowed["least"], allowed["part"] * before[metric])
    }


def unaccounted() -> dict[str, str]:
    """Return groupings without a scenario or an excuse, and useless excuses, each with the fix."""
    shown = {parse(scenario.grouping).name for scenario in scenarios().values()}
    missing = available().keys() - shown - EXCUSES.keys()
    idle = {name for name in EXCUSES if name in shown or name not in available()}
    return {
        **dict.fromkeys(missing, "add it to scenarios.toml, or excuse it there"),
        **dict.fromkeys(idle, "take its excuse out of scenarios.toml"),
    }


def _flat(figures: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested figures; their names are joined with dots."""
    parts = {name: each for name, each in figures.items() if isinstance(each, dict)}
    inner = {f"{name}.{part}": each for name in parts for part, each in parts[name].items()}
    return {**figures, **inner}


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {metric: float(f"{figure:.6g}") for metric, figure in figures.items()}

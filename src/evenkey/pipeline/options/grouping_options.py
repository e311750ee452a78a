"""Options of the grouping, its workers and sources, and the cost per message."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator

from evenkey.groupings import parse
from evenkey.pipeline.options.base import Configuration
from evenkey.pipeline.options.option_fields import MOST_TASKS, option

if TYPE_CHECKING:
    from evenkey.groupings import Grouping

_OVERRIDES = ("expected_keys", "warm_up", "teenage_period", "old_period")


class GroupingOptions(Configuration):
    """Options for a grouping, its workers and sources; a base class of configurations."""

    grouping: Annotated[str, AfterValidator(lambda text: str(parse(text)))] = option(
        "Grouping",
        "dkg",
        "Stream grouping, such as dkg or pkg(choices=3).",
        first=True,
        layout=True,
        metavar="GROUPING",
    )
    workers: int = option(
        "Grouping",
        10,
        "Number of workers; each is one task of an epoch.",
        ge=1,
        le=MOST_TASKS,
        first=True,
        layout=True,
    )
    sources: int = option(
        "Grouping",
        5,
        "Number of sources; each routes by the loads that it has seen itself.",
        ge=1,
        le=MOST_TASKS,
        layout=True,
    )
    load: Literal["epoch", "lifetime"] = option(
        "Grouping",
        "epoch",
        "Whether a source counts loads per epoch or over its lifetime.",
        layout=True,
    )
    expected_keys: int | None = option(
        "Grouping",
        None,
        "Expected distinct keys; overrides the grouping's own (dkg: 100).",
        ge=1,
        layout=True,
    )
    warm_up: float | None = option(
        "Grouping",
        None,
        "Warm-up in seconds; overrides the grouping's own (dkg: 15).",
        ge=0,
        layout=True,
        metavar="SECONDS",
    )
    teenage_period: float | None = option(
        "Grouping",
        None,
        "Seconds between promotions to the teenage space; overrides the grouping's own (dkg: 15).",
        gt=0,
        layout=True,
        metavar="SECONDS",
    )
    old_period: float | None = option(
        "Grouping",
        None,
        "Seconds between promotions to the old space; overrides the grouping's own (dkg: 60).",
        gt=0,
        layout=True,
        metavar="SECONDS",
    )

    def resolved_grouping(self) -> Grouping:
        """Return the grouping, with the parameter values that other options set."""
        grouping = parse(self.grouping)
        overrides = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(grouping)
            if field.name in _OVERRIDES and getattr(self, field.name) is not None
        }
        return dataclasses.replace(grouping, **overrides)

    def manifest(self) -> dict[str, Any]:
        """Return every option; the grouping has the parameter values that other options set."""
        return {**super().manifest(), "grouping": str(self.resolved_grouping())}


class WorkOptions(Configuration):
    """Options for merging tasks and simulated cost; a base class of configurations."""

    aggregators: int = option(
        "Work",
        4,
        "Tasks that merge partial results; the reference implementation has 10.",
        ge=1,
        le=MOST_TASKS,
        pinned="Spark does not change the number of partitions of its state",
    )
    cost_ms: float = option(
        "Work",
        0.0,
        "Simulated cost per message in ms; workers sleep for it.",
        ge=0,
        free=True,
        metavar="MS",
    )
    speed: float = option(
        "Work",
        1.0,
        "Divides the simulated cost.",
        gt=0,
        free=True,
        metavar="FACTOR",
    )

    @property
    def cost_seconds(self) -> float:
        """Seconds that a worker sleeps per message."""
        return self.cost_ms / 1000 / self.speed

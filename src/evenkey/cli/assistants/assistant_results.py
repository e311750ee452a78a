"""Typed results of the tools that ``evenkey mcp`` offers."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ChangeFound(BaseModel):
    """A change that would make a stage faster."""

    by: str = Field(description="Whose answer it is: spark or evenkey.")
    condition: str = Field(description="When the change can be made.")
    code: str = Field(description="Lines to write.")
    gain: float = Field(description="Predicted speedup of the stage.")
    seconds: float = Field(description="Predicted wall time of the stage, in seconds.")
    confidence: str = Field(description="high, medium or low.")


class StageFound(BaseModel):
    """A stage of an application, and why it is slow."""

    application: str
    application_id: str = Field(description="Spark's id of the application.")
    title: str = Field(description="Number, operator, keys and line of code.")
    verdict: str = Field(description="change, unsure, combined, balanced, small or none.")
    cause: str = Field(description="Why the stage is slow.")
    reason: str
    seconds: float = Field(description="Wall time of the stage, in seconds.")
    saved_seconds: float = Field(description="Wall time that the best change would save.")
    spark_suffices: bool = Field(description="Whether Spark alone gains as much as evenkey.")
    notes: list[str]
    changes: list[ChangeFound]


class DiagnosisFound(BaseModel):
    """Stages of finished or running applications, those to change first."""

    source: str
    to_change: int
    cautions: list[str]
    stages: list[StageFound]


class GroupingPrediction(BaseModel):
    """What the simulator predicts for a grouping on a number of workers."""

    grouping: str
    workers: int
    max_over_mean: float = Field(description="Maximum load over the mean load, at least 1.")
    dist_cost: float = Field(description="Mean number of workers per key, at least 1.")


class AdviceFound(BaseModel):
    """How skewed the keys of some files are, and what to use."""

    headline: str
    grouping: str | None = Field(description="Recommended grouping; null: none is needed.")
    workers: int
    reasons: list[str]
    code: str = Field(description="A program that follows the recommendation.")
    messages: int
    keys: int
    hottest_shares: list[float] = Field(description="Shares of the five hottest keys, 0 to 1.")
    caution: str | None
    predictions: list[GroupingPrediction]


class SimulationFound(BaseModel):
    """Balance of one grouping in a simulation."""

    grouping: str
    workers: int
    messages: int
    keys: int
    max_over_mean: float
    dist_cost: float
    loads: list[float] = Field(description="Messages of each worker.")


class HotKeyFound(BaseModel):
    """A hot key, and the tasks over which its load is spread."""

    name: str
    share: float
    tasks: int


class PlacementFound(BaseModel):
    """Where an operator sends keys, for one kind of work."""

    work: str
    choice: str
    hot_keys: list[HotKeyFound]
    gain: float = Field(description="Predicted speedup over Spark's own placement.")


class ExplanationFound(BaseModel):
    """What an operator would do with the keys of some files."""

    text: str
    tasks: int
    placements: list[PlacementFound]

"""The base class of applications: work on keyed messages that users run by name."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from evenkey.core.spelling import spell_changed


@dataclass(frozen=True)
class Application(ABC):
    """What ``evenkey run --application`` runs: a value, its parameters its fields.

    There are two kinds. A `PipelineApplication` is the pipeline with certain options; a
    `Learner` learns a model from labelled records, epoch by epoch.

    Examples
    --------
    >>> from evenkey.applications import parse
    >>> isinstance(parse("heavy-hitters(k=10)"), Application)
    True
    """

    name: ClassVar[str]
    """How it is spelled on the command line and in configuration."""
    summary: ClassVar[str]
    """What it does, in a line."""

    def __str__(self) -> str:
        """Spell the application with the parameters that differ from their defaults."""
        return spell_changed(self)

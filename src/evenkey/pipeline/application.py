"""The base class of applications: work on keyed messages that users run by name."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from evenkey.core.spelling import spell_changed


@dataclass(frozen=True)
class Application(ABC):
    """Base class of the applications that ``evenkey run --application`` can run.

    The fields of a subclass are the parameters of the application. There are two kinds of
    applications. A `PipelineApplication` is a pipeline with an aggregator and a way to split the
    input. A `Learner` learns a model from labelled records, epoch by epoch.

    Examples
    --------
    >>> from evenkey.applications import parse
    >>> isinstance(parse("heavy-hitters(k=10)"), Application)
    True
    """

    name: ClassVar[str]
    """Name of the application on the command line and in configuration files."""
    summary: ClassVar[str]
    """What the application does, in one line."""

    def __str__(self) -> str:
        """Return the name, and in parentheses the parameters that differ from their defaults."""
        return spell_changed(self)

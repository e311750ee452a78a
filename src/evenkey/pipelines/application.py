"""What an application is: work on keyed messages that users run by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenkey.spelling import spell_changed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.applications.config import ApplicationConfig

__all__ = ["Application", "PipelineApplication"]


@dataclass(frozen=True)
class Application(ABC):
    """What ``evenkey run --application`` runs: a value, its parameters its fields.

    There are two kinds. A `PipelineApplication` is the pipeline with certain options; a
    `Learner` learns a model from labelled records, epoch by epoch.
    """

    name: ClassVar[str]
    """How it is spelled on the command line and in configuration."""
    summary: ClassVar[str]
    """What it does, in a line."""

    def __str__(self) -> str:
        """Spell the application with the parameters that differ from their defaults."""
        return spell_changed(self)


@dataclass(frozen=True)
class PipelineApplication(Application):
    """The pipeline with an aggregator and a way to split the input."""

    @abstractmethod
    def options(self, config: ApplicationConfig) -> Mapping[str, Any]:
        """Give the options of the pipeline that make it this application.

        Parameters
        ----------
        config
            What was told besides; options that the user gave are not to be replaced.
        """

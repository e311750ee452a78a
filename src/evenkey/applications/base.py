"""Applications that run as a pipeline with preset options."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.pipeline.application import Application

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.pipeline.aggregate import PipelineOptions


@dataclass(frozen=True)
class PipelineApplication(Application):
    """An application that runs as a pipeline; it chooses the aggregator and how input is split.

    Examples
    --------
    >>> from evenkey.applications import FindHeavyHitters, PipelineApplication
    >>> isinstance(FindHeavyHitters(k=10), PipelineApplication)
    True

    >>> from evenkey.applications import ApplicationConfig
    >>> config = ApplicationConfig(application="heavy-hitters(k=10)", dataset="zipf(z=1,keys=9)")
    >>> sorted(FindHeavyHitters(k=10).options(config))
    ['aggregator']
    """

    @abstractmethod
    def options(self, config: PipelineOptions) -> Mapping[str, Any]:
        """Return the pipeline options that this application sets.

        Parameters
        ----------
        config
            The user's options; the application must not set an option that the user has set.
        """

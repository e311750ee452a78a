"""The country streams on Spark, for figures 10 and 11."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.on_spark import OnSpark, every_run
from evenkey.experiments.dkg.skewness import PERCENTS, SKEWNESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Finding
    from evenkey.experiments.figures import Axis
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["SkewnessOnSpark"]

_QUICK_PERCENTS = (0, 30, 60, 90)


class SkewnessOnSpark(OnSpark):
    """Every method on the country streams, 5 sources, 10 workers; four at quick."""

    setting: ClassVar[Axis] = SKEWNESS

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every method at every skewness."""
        percents = PERCENTS if scale.whole else _QUICK_PERCENTS
        names = [f"country-skew-r{percent}" for percent in percents]
        return [each for name in names for each in every_run(name, scale)]

    @abstractmethod
    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """What the paper says in words, beside the results."""

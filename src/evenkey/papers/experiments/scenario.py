"""Scenarios: a scenario is one measurement on one stream, with parameters and a permanent id."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import pyarrow as pa

    from evenkey.papers.experiments.experiment_data import Dataset

Value: TypeAlias = "str | int | float | bool | None"
Figure: TypeAlias = "Value | list[float]"
OnMessages: TypeAlias = "Callable[[int], None]"

_ID_DIGITS = 16


@dataclass(frozen=True)
class Measurement:
    """The result of a scenario.

    Parameters
    ----------
    figures
        Figures by name. They depend on neither the machine nor the time, so a scenario gives the
        same values on every run. Only the timings of a `Timed` scenario vary; such a scenario also
        has the machine as a figure, and may have lists with the timings of all runs.
    series
        Figures along the stream, one row per point. None: the scenario has no series.
    """

    figures: dict[str, Figure]
    series: pa.Table | None = None


@dataclass(frozen=True)
class Scenario(ABC):
    """One measurement on one stream.

    Scenarios are immutable and compared by value. If two experiments declare equal scenarios, they
    share one result.

    Parameters
    ----------
    dataset
        The stream.
    """

    kind: ClassVar[str]

    dataset: Dataset

    @abstractmethod
    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Measure the scenario.

        Parameters
        ----------
        on_messages
            Function that is called with the number of messages so far.
        """

    @property
    def at_once(self) -> int:
        """Maximum number of scenarios of this kind that one pass over a stream measures."""
        return 1

    @classmethod
    def measure_all(
        cls, scenarios: Sequence[Self], on_messages: OnMessages | None = None
    ) -> list[Measurement]:
        """Measure several scenarios on the same stream; results are those of `measure` for each."""
        return [each.measure(on_messages) for each in scenarios]

    @property
    def parameters(self) -> dict[str, Value]:
        """All parameters by name; ``dataset`` is the spelling of the stream."""
        own = _values(self)
        del own["dataset"]
        stream = _values(self.dataset)
        return {"kind": self.kind, "dataset": stream.pop("name"), **stream, **own}

    @property
    def id(self) -> str:
        """A permanent id of sixteen hexadecimal digits.

        The id is a digest of the kind, the stream and the parameters that differ from their
        defaults. So a parameter that is added later does not change the ids of earlier scenarios,
        as long as its default changes nothing.
        """
        defaults = {**_defaults(self.dataset), **_defaults(self)}
        changed = {
            name: value
            for name, value in self.parameters.items()
            if name not in defaults or defaults[name] != value
        }
        text = json.dumps(changed, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]

    def seeded(self, seed: int) -> Self:
        """Return the same scenario on a stream with another seed."""
        return dataclasses.replace(self, dataset=dataclasses.replace(self.dataset, seed=seed))

    def through(self, kafka: str) -> Self:
        """Return the same scenario with its stream read from a Kafka topic.

        Parameters
        ----------
        kafka
            Kafka servers, ``HOST:PORT`` separated by commas.

        Raises
        ------
        ConfigurationError
            The scenario cannot read its stream from a topic.
        """
        message = f"kafka = {kafka!r}: {self.kind} scenarios read no topic; leave out kafka"
        raise ConfigurationError(message)


def _values(thing: Dataset | Scenario) -> dict[str, Value]:
    return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}


def _defaults(thing: Dataset | Scenario) -> dict[str, Value]:
    return {
        field.name: field.default
        for field in dataclasses.fields(thing)
        if field.default is not dataclasses.MISSING
    }

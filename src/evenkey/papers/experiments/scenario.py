"""A scenario: one thing to measure on one stream, with all of its parameters and a permanent id."""

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
OnMessages: TypeAlias = "Callable[[int], None]"

_ID_DIGITS = 16


@dataclass(frozen=True)
class Measurement:
    """What a scenario gave.

    Parameters
    ----------
    figures
        Named figures. None of them depends on the machine or on the hour, so that the same
        scenario always gives the same digits; those of a `Timed` one say where they were
        measured.
    series
        Figures along the stream, a row a point; None if there are none.
    """

    figures: dict[str, Value]
    series: pa.Table | None = None


@dataclass(frozen=True)
class Scenario(ABC):
    """One thing to measure on one stream.

    A scenario is a value. Experiments that declare equal scenarios share their result.

    Parameters
    ----------
    dataset
        The stream.
    """

    kind: ClassVar[str]
    alone: ClassVar[bool] = False
    """Whether it is to be measured in the runner's own process with nothing beside it."""

    dataset: Dataset

    @abstractmethod
    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Measure it.

        Parameters
        ----------
        on_messages
            Called with the messages so far.
        """

    @property
    def at_once(self) -> int:
        """How many like it are measured in one pass over the same stream, at most."""
        return 1

    @classmethod
    def measure_all(
        cls, scenarios: Sequence[Self], on_messages: OnMessages | None = None
    ) -> list[Measurement]:
        """Measure several on the same stream; each gives what it gives alone."""
        return [each.measure(on_messages) for each in scenarios]

    @property
    def parameters(self) -> dict[str, Value]:
        """All parameters by name; the stream's spelling is ``dataset``."""
        own = _values(self)
        del own["dataset"]
        stream = _values(self.dataset)
        return {"kind": self.kind, "dataset": stream.pop("name"), **stream, **own}

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that never change.

        They are a digest of kind, stream and the parameters that differ from their defaults, so
        that a parameter that is added later, with a default that changes nothing, leaves the ids
        of earlier scenarios as they are.
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
        """Make the same scenario on a stream with another seed."""
        return dataclasses.replace(self, dataset=dataclasses.replace(self.dataset, seed=seed))

    def through(self, kafka: str) -> Self:
        """Make the same scenario on a stream that comes through a topic.

        Parameters
        ----------
        kafka
            Servers, ``HOST:PORT`` with commas between.

        Raises
        ------
        ConfigurationError
            Its stream cannot come through a topic.
        """
        message = f"kafka = {kafka!r}: {self.kind} scenarios read no topic; leave kafka out"
        raise ConfigurationError(message)


def _values(thing: Dataset | Scenario) -> dict[str, Value]:
    return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}


def _defaults(thing: Dataset | Scenario) -> dict[str, Value]:
    return {
        field.name: field.default
        for field in dataclasses.fields(thing)
        if field.default is not dataclasses.MISSING
    }

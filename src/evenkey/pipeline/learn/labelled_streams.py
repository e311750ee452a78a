"""Generated streams of labelled records; any part of a stream can be generated again."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings, mix
from evenkey.core.spelling import read, spell

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

_WORD = 1 << 64


@dataclass(frozen=True)
class LabelledStream(ABC):
    """A finite generated stream; each labelled record depends only on name, seed and position.

    Parameters
    ----------
    length
        Number of records, at least 1.
    seed
        Another seed gives another stream of the same kind.

    Raises
    ------
    ConfigurationError
        `length` is below 1.

    Examples
    --------
    >>> from evenkey.applications import Clusters
    >>> stream = Clusters(features=2, length=100)
    >>> stream.records(0, 3).column_names, stream.records(98, 200).num_rows
    (['label', 'features'], 2)

    >>> stream.name
    'clusters(classes=4,features=2,clusters=3,spread=0.15)'
    """

    family: ClassVar[str]
    """Name of this kind of stream, without parameters."""
    summary: ClassVar[str]

    length: int = field(default=20_000, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.length < 1:
            message = f"{self.name}: length = {self.length}: must be at least 1 record"
            raise ConfigurationError(message)

    @property
    def name(self) -> str:
        """Spelling of the stream, such as ``documents(classes=2,words=10000)``."""
        shared = {each.name for each in dataclasses.fields(LabelledStream)}
        own = [each.name for each in dataclasses.fields(self) if each.name not in shared]
        return spell(self.family, {name: getattr(self, name) for name in own})

    def records(self, start: int, stop: int) -> pa.Table:
        """Generate the records `start` to `stop` - 1, up to the stream's end.

        Returns
        -------
        Table
            ``label`` (string) and the other columns of the stream.
        """
        return self._records(start, max(start, min(stop, self.length)))

    @abstractmethod
    def _records(self, start: int, stop: int) -> pa.Table: ...

    def _uniform(self, numbers: NDArray[np.int64], salt: int) -> NDArray[np.float64]:
        """Hash each number, with the stream's name and seed, to a uniform number in [0, 1)."""
        seed = hash_strings([f"{self.name} {self.seed}"])[0]
        return np.asarray(mix(numbers.astype(np.uint64) ^ seed, salt) / _WORD)


def labelled(
    name: str | None,
    streams: Mapping[str, type[LabelledStream]],
    *,
    messages: int | None = None,
    seed: int = 0,
) -> LabelledStream:
    """Return a generated stream of labelled records.

    Parameters
    ----------
    name
        Spelling of the stream; None: the first of `streams`.
    streams
        The available streams.
    messages
        Number of records; None: the stream's default.
    seed
        Seed of the stream.

    Raises
    ------
    ConfigurationError
        There is no stream of this name, or its spelling contains a length or a seed.
    """
    spelling = next(iter(streams)) if name is None else name
    stream = read("dataset of labelled records", spelling, streams)
    for parameter, other in (("length", "messages"), ("seed", "seed")):
        if re.search(rf"\b{parameter}\b", spelling):
            message = f"dataset = {spelling!r}: set {parameter} with the option {other} instead"
            raise ConfigurationError(message)
    length = stream.length if messages is None else messages
    return dataclasses.replace(stream, length=length, seed=seed)

"""The streams that experiments run on, as values: a spelling, a length, a seed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Edges, FileStream, LineIndex, SplitLines, generated, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import MessageStream, Published

DATA_VARIABLE = "EVENKEY_DATA"
"""Environment variable that names the folder of real data."""

EPINIONS = "soc-Epinions1.txt.gz"
"""SNAP's who-trusts-whom graph of Epinions: 405,740 directed edges, one a line."""


@dataclass(frozen=True)
class Dataset:
    """A stream of an experiment.

    Parameters
    ----------
    name
        Spelling of a generated stream, or the name of a graph's file, one edge a line, in the
        folder of real data.
    messages
        How many messages; None for a file, which is read whole.
    rate
        Messages per second of event time; None lets the stream span 400 s.
    seed
        Of a generated stream.

    Examples
    --------
    >>> with Dataset("zipf(z=1,keys=10)", 5).opened() as stream:
    ...     stream.name
    'zipf(z=1,keys=10)'
    """

    name: str
    messages: int | None = None
    rate: float | None = None
    seed: int = 0

    @property
    def is_file(self) -> bool:
        """Whether it is read from a file rather than generated."""
        return "." in self.name.partition("(")[0]

    def missing(self) -> str | None:
        """Why the stream cannot be had here; None if it can."""
        if not self.is_file or self._file().is_file():
            return None
        return f"{self.name} is not in {self._file().parent}: name its folder in {DATA_VARIABLE}"

    @contextlib.contextmanager
    def opened(self) -> Iterator[MessageStream]:
        """Open the stream; what a file is unpacked to is gone when it is closed."""
        if not self.is_file:
            yield generated(self.name, messages=self.messages, seed=self.seed, rate=self.rate)
            return
        with tempfile.TemporaryDirectory(prefix="evenkey-") as directory:
            lines = LineIndex.build(unpack([self._file()], Path(directory)))
            yield FileStream(self.name, SplitLines(lines, Edges()), rate=self.rate)

    def _file(self) -> Path:
        return Path(os.environ.get(DATA_VARIABLE, "../shared/data")) / self.name


def published(name: str) -> Published:
    """Give what a paper says of the data set that a generated stream stands for.

    Raises
    ------
    ConfigurationError
        It stands for none.

    Examples
    --------
    >>> published("wikipedia-like").keys
    2900000
    """
    figures = getattr(generated(name), "published", None)
    if figures is None:
        message = f"dataset {name!r} is no look-alike of a paper's data set; choose one"
        raise ConfigurationError(message)
    found: Published = figures
    return found

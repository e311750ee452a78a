"""The streams of experiments; a stream is defined by a spelling, a length and a seed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    Edges,
    FileStream,
    LineIndex,
    SplitLines,
    catalogue,
    generated,
    unpack,
)
from evenkey.papers.experiments.own_keys import OwnKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import MessageStream, Published

DATA_VARIABLE = "EVENKEY_DATA"
"""Environment variable with the path of the folder of real data."""

DISTRICTS = "uk-postcode-districts.geojson.gz"
"""File of the polygons of British postcode districts, from which joins draw both their sides."""

EPINIONS = "soc-Epinions1.txt.gz"
"""File of SNAP's graph of Epinions, undirected: 405,739 pairs of vertices, one per line.

Each pair stands there once, from the lower number to the higher one.
"""


@dataclass(frozen=True)
class Dataset:
    """A stream of an experiment.

    Parameters
    ----------
    name
        Spelling of a generated stream; or the name of a file in the folder of real data: a graph
        with one edge per line, or polygons.
    messages
        Number of messages. None: the stream is a graph, which is read as a whole.
    rate
        Messages per second of event time. None: the stream spans 400 s.
    seed
        Seed of a generated stream.
    prefix
        Text before the name of each key of a generated stream, as in `OwnKeys`; empty: none.

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
    prefix: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the stream is read from a file; otherwise it is generated."""
        return "." in self.name.partition("(")[0]

    def missing(self) -> str | None:
        """Return why the stream is not available; None if it is available."""
        if not self.is_file or self.file.is_file():
            return None
        return f"{self.name} is not in {self.file.parent}: set {DATA_VARIABLE} to its folder"

    @contextlib.contextmanager
    def opened(self) -> Iterator[MessageStream]:
        """Open the stream. A file is unpacked to a copy, which is deleted when the context ends."""
        if not self.is_file:
            stream = generated(self.name, messages=self.messages, seed=self.seed, rate=self.rate)
            yield OwnKeys(stream, self.prefix) if self.prefix else stream
            return
        with tempfile.TemporaryDirectory(prefix="evenkey-") as directory:
            lines = LineIndex.build(unpack([self.file], Path(directory)))
            yield FileStream(self.name, SplitLines(lines, Edges()), rate=self.rate)

    @property
    def file(self) -> Path:
        """Path of the file."""
        return Path(os.environ.get(DATA_VARIABLE, "../shared/data")) / self.name


def published(name: str) -> Published:
    """Return the figures that a paper gives for the data set that a generated stream mimics.

    Raises
    ------
    ConfigurationError
        The stream does not mimic a data set.

    Examples
    --------
    >>> published("wikipedia-like").keys
    2900000
    """
    figures = getattr(generated(name), "published", None)
    if figures is None:
        known = ", ".join(each.spelling for each in catalogue() if each.published is not None)
        message = (
            f"dataset {name!r} is not a look-alike of a paper's data set; choose one of {known}"
        )
        raise ConfigurationError(message)
    found: Published = figures
    return found

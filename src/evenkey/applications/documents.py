"""Generated documents of several classes, whose words are Zipf-distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Zipf
from evenkey.pipeline.learn import LabelledStream

_LABEL, _OWN = 1, 2
"""Numbers of two hash functions: one draws the label, one whether a word belongs to the class."""


@dataclass(frozen=True)
class Documents(LabelledStream):
    """Documents of `size` words; each class has its own words, and all share the hottest words.

    A document has class c with probability proportional to ``1 / (c + 1)``. For each word of a
    document, a rank r is drawn from a Zipf distribution. With probability `own` the word belongs
    to the class: its number is ``r + (c + 1) * words // (classes + 1)`` modulo `words`. Otherwise
    its number is r.

    Parameters
    ----------
    classes
        Number of classes, at least 2.
    words
        Number of distinct words, at least ``classes + 1``.
    z
        Exponent of the Zipf distribution.
    size
        Number of words of a document, at least 1.
    own
        Probability that a word belongs to the document's class, 0 to 1.

    Raises
    ------
    ConfigurationError
        A parameter is out of its range.

    Examples
    --------
    >>> Documents(words=100, size=4, length=3).records(1, 3).to_pylist()
    [{'label': 'class 0', 'text': 'w0 w4 w7 w1'}, {'label': 'class 0', 'text': 'w1 w4 w55 w74'}]
    """

    family: ClassVar[str] = "documents"
    summary: ClassVar[str] = "documents whose Zipf-distributed words depend on their class"

    classes: int = 2
    words: int = 10_000
    z: float = 1.1
    size: int = 12
    own: float = 0.2

    def __post_init__(self) -> None:
        check_fields(self)
        for name, value, least in (
            ("classes", self.classes, 2),
            ("words", self.words, self.classes + 1),
            ("size", self.size, 1),
        ):
            if value < least:
                message = f"documents: {name} = {value}: must be at least {least}"
                raise ConfigurationError(message)
        if not 0 <= self.own <= 1:
            message = f"documents: own = {self.own}: a share must be from 0 to 1"
            raise ConfigurationError(message)
        super().__post_init__()

    def _records(self, start: int, stop: int) -> pa.Table:
        ranks = Zipf(self.z, self.words, messages=self.length * self.size, seed=self.seed)
        words = ranks.ids(start * self.size, stop * self.size)
        numbers = np.arange(start, stop)
        shares = 1 / np.arange(1, self.classes + 1)
        drawn = self._uniform(numbers, _LABEL)
        classes = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], drawn, side="right")
        owner = np.repeat(classes, self.size)
        places = np.arange(start * self.size, stop * self.size)
        own = self._uniform(places, _OWN) < self.own
        shift = (owner + 1) * self.words // (self.classes + 1)
        words = np.where(own, (words + shift) % self.words, words)
        offsets = pa.array(np.arange(0, len(words) + 1, self.size, dtype=np.int32))
        texts = pa.ListArray.from_arrays(offsets, _named("w", words))
        return pa.table({"label": _named("class ", classes), "text": pc.binary_join(texts, " ")})


def _named(prefix: str, numbers: np.typing.NDArray[np.int64]) -> pa.StringArray:
    texts = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise(prefix, texts, "")

"""The naive Bayes model: counts of words by class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import reduce_groups
from evenkey.core.streams import Words
from evenkey.pipeline.learn import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = ""
"""Key of the message that each document adds to count the document; other keys are words."""
UNIT = 2.0**-36
"""Log-probabilities are rounded to integer multiples of this number and added as integers."""

_ALPHA = b"alpha"


def words_of(text: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Find the words in each text, by the rules of the splitter ``words``.

    Returns
    -------
    Table
        ``line`` (int64, index of the text, ascending) and ``key`` (string, the word).

    Examples
    --------
    >>> words_of(pa.array(["To be", "or not!"])).to_pydict()
    {'line': [0, 0, 1, 1], 'key': ['to', 'be', 'or', 'not']}
    """
    array = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return Words().split(array.cast(pa.binary())).messages.select(["line", "key"])


@dataclass(frozen=True, eq=False)
class BayesModel(Model):
    """Counts of words by class, and the probabilities computed from these counts.

    Let ``n(w, c)`` be the number of occurrences of word w in documents of class c, and ``n(c)``
    the sum of ``n(w, c)`` over all words w. Let V be the number of distinct words, D the number
    of documents, and D(c) the number of documents of class c. Then:

    - ``log P(c) = log(D(c) / D)``;
    - ``log P(w | c) = log((n(w, c) + alpha) / (n(c) + alpha V))`` (Laplace smoothing).

    A document gets the class with the greatest ``log P(c) + sum log P(w | c)``, where the sum is
    over the document's words that the model knows. Ties go to the first label. Logarithms are
    rounded to multiples of `UNIT` and added as integers, so sums do not depend on the order.

    Parameters
    ----------
    counts
        Columns ``word``, ``label`` (string) and ``count`` (int64), with one row per (word, label)
        pair. Rows with the word `DOCUMENT` contain the number of documents of a label.
    alpha
        Laplace smoothing: the number added to each count, above 0.
    """

    counts: pa.Table
    alpha: float

    @classmethod
    def empty(cls, alpha: float) -> BayesModel:
        """Return a model that has learned no documents."""
        names = [("word", pa.string()), ("label", pa.string()), ("count", pa.int64())]
        return cls(pa.schema(names).empty_table(), alpha)

    @classmethod
    def from_table(cls, table: pa.Table) -> BayesModel:
        """Restore a model from a table that `to_table` returned."""
        metadata = table.schema.metadata or {}
        return cls(table.replace_schema_metadata(None), float(metadata[_ALPHA]))

    def to_table(self) -> pa.Table:
        """Return the counts as a table that `from_table` can read."""
        return self.counts.replace_schema_metadata({_ALPHA: repr(self.alpha).encode()})

    def plus(self, counts: pa.Table) -> BayesModel:
        """Return the model with `counts` added, in which (word, label) pairs may repeat."""
        both = pa.concat_tables([self.counts, counts.select(self.counts.column_names)])
        added = reduce_groups(both, ["word", "label"], {"count": ("count", "sum")})
        order = [("word", "ascending"), ("label", "ascending")]
        return BayesModel(added.sort_by(order).combine_chunks(), self.alpha)

    @cached_property
    def labels(self) -> list[str]:
        """The classes, ascending."""
        return sorted(pc.unique(self.counts["label"]).to_pylist())

    @cached_property
    def vocabulary(self) -> pa.StringArray:
        """The words that the model knows."""
        words = pc.unique(self.counts["word"])
        return words.filter(pc.not_equal(words, DOCUMENT))

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """The counts n(w, c), int64[words + 1, classes]; the last row has the counts D(c)."""
        counts = np.zeros((len(self.vocabulary) + 1, len(self.labels)), dtype=np.int64)
        words = pc.fill_null(pc.index_in(self.counts["word"], self.vocabulary), -1).to_numpy()
        classes = pc.index_in(self.counts["label"], pa.array(self.labels, pa.string())).to_numpy()
        counts[words, classes] = self.counts["count"].to_numpy()
        return counts

    @cached_property
    def prior(self) -> NDArray[np.int64]:
        """The value of log P(c) in multiples of `UNIT`, int64[classes].

        A class without documents counts as one document.
        """
        documents = np.maximum(self._table[-1], 1)
        return _units(np.log(documents) - np.log(documents.sum() or 1))

    def likelihood(self, words: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Return log P(w | c) of each word in multiples of `UNIT`, int64[n, classes].

        The value is 0 for words that the model does not know.
        """
        places = pc.fill_null(pc.index_in(words, self.vocabulary), -1).to_numpy()
        counts = self._table[:-1]
        smoothed = np.log(counts.sum(axis=0) + self.alpha * len(counts))
        units = _units(np.log(counts[places] + self.alpha) - smoothed) if len(counts) else None
        known = (places >= 0)[:, None]
        return (
            np.where(known, units, 0)
            if units is not None
            else np.zeros((len(places), len(self.labels)), dtype=np.int64)
        )

    def scores(self, text: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Return ``log P(c) + sum log P(w | c)`` of each text, int64[n, classes].

        The values are in multiples of `UNIT`.
        """
        words = words_of(text)
        sums = np.zeros((len(words) + 1, len(self.labels)), dtype=np.int64)
        np.cumsum(self.likelihood(words["key"]), axis=0, out=sums[1:])
        ends = np.searchsorted(words["line"].to_numpy(), np.arange(len(text) + 1))
        return np.asarray(np.diff(sums[ends], axis=0) + self.prior)

    def predict(self, records: pa.Table) -> pa.StringArray:
        """Return the most likely class of each ``text``; null if the model knows no class yet."""
        if not self.labels:
            return pa.nulls(records.num_rows, pa.string())
        best = self.scores(records["text"]).argmax(axis=1)
        return pa.array(self.labels, pa.string()).take(pa.array(best))


def _units(logarithms: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(logarithms / UNIT).astype(np.int64)

"""Streaming naive Bayes: classify documents by their words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import Tally
from evenkey.applications.bayes_model import DOCUMENT, BayesModel, words_of
from evenkey.applications.documents import Documents
from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn import Learner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.aggregators import Aggregator
    from evenkey.pipeline.learn import LearnConfig


@dataclass(frozen=True)
class NaiveBayes(Learner[BayesModel]):
    """Multinomial naive Bayes (``naive-bayes``), the running example of the PKG paper, section 2.

    A document becomes one message per word, with the word as the key, and one more message whose
    key is empty text, which counts the document. Workers count messages by key and class. The model
    is the sum of all counts, so it is exact under every grouping. With K distinct words in an
    epoch, all W workers together hold ``K`` keys under key grouping, at most ``2 * K`` under
    partial key grouping, and up to ``W * K`` under shuffle grouping.

    Parameters
    ----------
    alpha
        Laplace smoothing: the number added to each count, above 0.

    Raises
    ------
    ConfigurationError
        `alpha` is not above 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> bayes = NaiveBayes()
    >>> records = pa.table({"label": ["tea", "bar"], "text": ["green tea", "bar of gold"]})
    >>> messages = bayes.messages(records, bayes.start())
    >>> messages.num_rows
    7
    >>> tally = bayes.aggregator
    >>> merged = tally.finish(tally.partial(messages, by=["key"]), by=["key"])
    >>> bayes.learn(bayes.start(), merged).predict(pa.table({"text": ["gold"]})).to_pylist()
    ['bar']
    """

    name: ClassVar[str] = "naive-bayes"
    summary: ClassVar[str] = "classes of documents by their words, learned from labelled ones"
    fields: ClassVar = pa.schema([("text", pa.string())])
    streams: ClassVar = MappingProxyType({Documents.family: Documents})

    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.alpha > 0 and math.isfinite(self.alpha)):
            message = f"naive-bayes: alpha = {self.alpha}: must be above 0"
            raise ConfigurationError(message)

    @property
    def aggregator(self) -> Aggregator:
        """The aggregator that counts the messages of each word by class."""
        return Tally("label")

    def columns(self, config: LearnConfig, schema: pa.Schema) -> Mapping[str, Sequence[str]]:
        """Return the column that the option `text` of `config` names."""
        if config.text is None:
            message = (
                "naive-bayes needs the option text, the column with the documents; the input has: "
                f"{', '.join(schema.names)}"
            )
            raise ConfigurationError(message)
        return {"text": [config.text]}

    def start(self) -> BayesModel:
        """Return a model that has learned no documents."""
        return BayesModel.empty(self.alpha)

    def restore(self, table: pa.Table) -> BayesModel:
        """Restore a model from the table that the model's method `to_table` returned."""
        return BayesModel.from_table(table)

    def messages(self, records: pa.Table, model: BayesModel) -> pa.Table:
        """Make one message per document, and one message per word."""
        del model
        words = words_of(records["text"])
        place = np.arange(records.num_rows)
        record = np.concatenate([place, words["line"].to_numpy()])
        keys = pa.concat_arrays([pa.repeat(DOCUMENT, len(place)), words["key"].combine_chunks()])
        order = pa.array(np.argsort(record, kind="stable"))
        record = pa.array(record).take(order)
        labels = records["label"].take(record)
        return pa.table({"record": record, "key": keys.take(order), "label": labels})

    def learn(self, model: BayesModel, merged: pa.Table) -> BayesModel:
        """Return the model with the epoch's counts added."""
        return model.plus(merged.rename_columns({"key": "word", "value": "label"}))

    def counters(self, partials: pa.Table) -> int:
        """Count the (word, class) pairs in partial aggregates."""
        return int(pc.sum(pc.list_value_length(partials["values"])).as_py() or 0)

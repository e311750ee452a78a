"""Base classes of learners, whose models grow with a stream of labelled records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping  # noqa: TC003 - spellings read the hints of a learner
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import pyarrow as pa  # noqa: TC002 - as above

from evenkey.core.checking import check_fields, shown
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.application import Application
from evenkey.pipeline.learn.labelled_streams import LabelledStream  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.aggregators import Aggregator
    from evenkey.pipeline.learn.config import LearnConfig


class Model(ABC):
    """An immutable model, learned from the records up to the end of an epoch.

    A model can be converted to a table and back, because the tasks of the next epoch read it from a
    file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from evenkey.applications import DecisionTree
    >>> tree = DecisionTree(min_leaf=1)
    >>> records = pa.table({"label": ["low", "low", "high"], "features": [[0.1], [0.3], [0.9]]})
    >>> merged = tree.aggregator.partial(tree.messages(records, tree.start()), by=["key"])
    >>> model = tree.learn(tree.start(), merged)
    >>> model.predict(pa.table({"features": [[0.2], [0.7]]})).to_pylist()
    ['low', 'high']

    >>> model.to_table().num_rows  # one row per node of the tree
    3
    """

    @abstractmethod
    def to_table(self) -> pa.Table:
        """Return the model as a table; other content goes into the metadata of its schema."""

    @abstractmethod
    def predict(self, records: pa.Table) -> pa.StringArray:
        """Return the predicted label of each record; null where the model cannot yet predict.

        Parameters
        ----------
        records
            Table with the columns of `Learner.fields`.
        """


ModelT = TypeVar("ModelT", bound=Model)


def check_learner(learner: object) -> None:
    """Check that a value is a learner.

    Raises
    ------
    ConfigurationError
        The value is not a learner.
    """
    if not isinstance(learner, Learner):
        message = f"learner = {shown(learner)}: pass a Learner, such as NaiveBayes()"
        raise ConfigurationError(message)


@dataclass(frozen=True)
class Learner(Application, Generic[ModelT]):
    """An application that learns from labelled records, epoch by epoch.

    In each epoch, the sources convert records to keyed messages, and a grouping assigns the
    messages to workers. Each worker computes partial aggregates of its messages, and evenkey merges
    the partial aggregates by key. From the merged aggregates and the model of the previous epoch,
    the driver makes the model of the epoch, and stores it as the model that the next epoch starts
    from. An epoch that runs again starts from the same model, so interruptions do not change the
    result.

    The methods run in Spark's tasks and on the driver, and do not import Spark.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from evenkey.applications import NaiveBayes
    >>> bayes = NaiveBayes()
    >>> records = pa.table({"label": ["tea"], "text": ["green tea"]})
    >>> bayes.messages(records, bayes.start()).column_names
    ['record', 'key', 'label']

    An epoch: messages, partial aggregates on workers, their merge, and a model as a table.

    >>> tally = bayes.aggregator
    >>> partials = tally.partial(bayes.messages(records, bayes.start()), by=["key"])
    >>> bayes.counters(partials)
    3
    >>> merged = tally.merge(partials, by=["key"])
    >>> model = bayes.learn(bayes.start(), tally.finish(merged, by=["key"]))
    >>> bayes.restore(model.to_table()).predict(pa.table({"text": ["tea"]})).to_pylist()
    ['tea']
    >>> schema = pa.schema({"label": pa.string(), "text": pa.string()})
    >>> from evenkey.applications import LearnConfig
    >>> bayes.columns(LearnConfig(dataset="documents", text="text"), schema)
    {'text': ['text']}
    """

    fields: ClassVar[pa.Schema]
    """Columns of a record besides its ``label`` (string): text, numbers or lists of numbers."""
    streams: ClassVar[Mapping[str, type[LabelledStream]]]
    """Generated streams of labelled records, by name; the first stream is the default."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    @abstractmethod
    def aggregator(self) -> Aggregator:
        """The aggregate that workers compute over messages, with one group per key."""

    @abstractmethod
    def columns(self, config: LearnConfig, schema: pa.Schema) -> Mapping[str, Sequence[str]]:
        """Return, for each of `fields`, the columns of the input that make up the field.

        A list field takes any number of columns, any other field takes one column.

        Parameters
        ----------
        config
            The configuration, whose options name columns.
        schema
            Schema of the input.

        Raises
        ------
        ConfigurationError
            An option that names a column is missing, or the column does not exist.
        """

    @abstractmethod
    def start(self) -> ModelT:
        """Return the empty model."""

    @abstractmethod
    def restore(self, table: pa.Table) -> ModelT:
        """Restore a model from its table."""

    @abstractmethod
    def messages(self, records: pa.Table, model: ModelT) -> pa.Table:
        """Convert records to messages.

        Parameters
        ----------
        records
            Table with the columns ``label`` and `fields`, without nulls.
        model
            The model of the previous epoch.

        Returns
        -------
        Table
            One row per message, with the columns ``record``, ``key`` and those of the aggregator.
            ``record`` (int64, ascending) is the row number, in `records`, of the record that the
            message was made from. ``key`` is a string.
        """

    @abstractmethod
    def learn(self, model: ModelT, merged: pa.Table) -> ModelT:
        """Return the model after an epoch.

        Parameters
        ----------
        model
            The model of the previous epoch.
        merged
            Table with ``key`` and the aggregator's results, in an order that depends only on the
            messages.
        """

    @abstractmethod
    def counters(self, partials: pa.Table) -> int:
        """Return the number of counters in a worker's partial aggregates.

        Parameters
        ----------
        partials
            Table with ``key`` and the aggregator's state.
        """

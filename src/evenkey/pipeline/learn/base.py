"""What a learner is: a model that grows with a stream of labelled records."""

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
    """What was learned by the end of an epoch: a value, never changed.

    Tasks of the next epoch read it from a file, so it is a table and can be made of one.

    Examples
    --------
    >>> from evenkey.applications import Clusters, DecisionTree, InProcess
    >>> learned = InProcess(DecisionTree(max_depth=2), "pkg", workers=4)
    >>> trained = learned.train([Clusters(features=3, length=400).records(0, 400)])
    >>> trained.model.predict(pa.table({"features": [[0.0, 0.0, 0.0]]})).to_pylist()
    ['class 2']

    >>> trained.model.to_table().num_rows  # a row a node of the tree
    3
    """

    @abstractmethod
    def to_table(self) -> pa.Table:
        """Give all of it as a table; what is not columns goes into the schema's metadata."""

    @abstractmethod
    def predict(self, records: pa.Table) -> pa.StringArray:
        """Give the label of each record, null where the model cannot tell yet.

        Parameters
        ----------
        records
            The columns of `Learner.fields`.
        """


ModelT = TypeVar("ModelT", bound=Model)


def check_learner(learner: object) -> None:
    """Make sure that something learns.

    Raises
    ------
    ConfigurationError
        It does not.
    """
    if not isinstance(learner, Learner):
        message = f"learner = {shown(learner)}: pass a Learner, such as NaiveBayes()"
        raise ConfigurationError(message)


@dataclass(frozen=True)
class Learner(Application, Generic[ModelT]):
    """An application that learns from labelled records, epoch by epoch.

    In each epoch the sources turn records into keyed messages, a grouping places these on
    workers, workers compute partial aggregates of the messages that they hold, and these are
    merged by key. Of the model of the epoch before and the merged aggregates the driver makes
    the model of the epoch, and writes it down under the epoch's number. An epoch that runs
    again starts from the same model, so what is learned is the same however often a run stops.

    The methods run in Spark's tasks and on the driver, and import no Spark.

    Examples
    --------
    >>> from evenkey.applications import NaiveBayes
    >>> bayes = NaiveBayes()
    >>> records = pa.table({"label": ["tea"], "text": ["green tea"]})
    >>> bayes.messages(records, bayes.start()).column_names
    ['record', 'key', 'label']

    An epoch: messages, partial aggregates on workers, merged, and a model that travels as a table.

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
    """What a record has besides its ``label`` (string): text, numbers, lists of numbers."""
    streams: ClassVar[Mapping[str, type[LabelledStream]]]
    """Generated streams of such records by their names; the first is read by default."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    @abstractmethod
    def aggregator(self) -> Aggregator:
        """What workers compute on messages; one group a key."""

    @abstractmethod
    def columns(self, config: LearnConfig, schema: pa.Schema) -> Mapping[str, Sequence[str]]:
        """Say of which columns of an input each of `fields` is made.

        A field of lists takes any number of columns, any other field takes one.

        Raises
        ------
        ConfigurationError
            An option that names a column is missing, or names none.
        """

    @abstractmethod
    def start(self) -> ModelT:
        """Make the model of nothing learned."""

    @abstractmethod
    def restore(self, table: pa.Table) -> ModelT:
        """Make the model that gave a table."""

    @abstractmethod
    def messages(self, records: pa.Table, model: ModelT) -> pa.Table:
        """Take records apart into messages.

        Parameters
        ----------
        records
            ``label`` and `fields`, no nulls.
        model
            Of the epoch before.

        Returns
        -------
        Table
            ``record`` (int64, place of the record that a message comes from, ascending),
            ``key`` (string) and the aggregator's columns.
        """

    @abstractmethod
    def learn(self, model: ModelT, merged: pa.Table) -> ModelT:
        """Make the model of the epoch.

        Parameters
        ----------
        model
            Of the epoch before.
        merged
            ``key`` and the aggregator's result, in an order that depends on nothing but the
            messages.
        """

    @abstractmethod
    def counters(self, partials: pa.Table) -> int:
        """Count what a worker holds in its partial aggregates (``key`` and state)."""

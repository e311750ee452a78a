"""The configuration of a run with an application: a pipeline's, and what is its own."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from evenkey.applications.catalogue import parse
from evenkey.errors import ConfigurationError
from evenkey.options.fields import option
from evenkey.pipelines.aggregate.config import PipelineConfig
from evenkey.pipelines.application import PipelineApplication
from evenkey.pipelines.learn.learner import Learner
from evenkey.spelling import read
from evenkey.streams import generated
from evenkey.streams.suffixes import Split, split_of

if TYPE_CHECKING:
    from evenkey.pipelines.application import Application
    from evenkey.pipelines.learn.labelled import LabelledStream

__all__ = ["ApplicationConfig"]

_OWN = ("application", "label", "text", "features")
_OF_LEARNERS = ("label", "text", "features")
_OF_PIPELINES = (
    *("aggregator", "aggregator_window", "worker_window", "lateness", "sink", "max_ahead"),
    *("key", "count", "time", "types", "splitters", "route_by", "observe_by"),
    *("kafka", "output_kafka", "starting_offsets", "record_part", "follow", "kafka_config"),
    *("avro_schema", "dead_letters_topic"),
)
"""Options that say nothing to a learner."""
_FORMATS = ("csv", "json", "parquet")


def _names(value: object) -> object:
    """Take names with commas between for a list of names."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return value
    if not all(isinstance(text, str) for text in texts):
        return value
    return tuple(each.strip() for text in texts for each in text.split(","))


class ApplicationConfig(PipelineConfig):
    """What ``evenkey run`` runs: a pipeline, or an application.

    Examples
    --------
    >>> config = ApplicationConfig(application="wordcount", dataset="zipf(z=1.4,keys=100)")
    >>> config.pipeline().aggregator
    'count'
    >>> ApplicationConfig(application="naive-bayes").dataset
    'documents(classes=2,words=10000,z=1.1,size=12,own=0.2)'
    >>> ApplicationConfig(application="word-count")
    Traceback (most recent call last):
    evenkey.errors.ConfigurationError: unknown application 'word-count' (did you mean 'wordcount'?);
    there are: ...
    """

    dataset: str | None = option(
        "Input",
        None,
        "Generated stream to read; `evenkey dataset list` names them.",
        min_length=1,
    )
    application: Annotated[str, AfterValidator(lambda text: str(parse(text)))] | None = option(
        "Application",
        None,
        "What is run in place of an aggregator: wordcount, heavy-hitters(k=20), "
        "naive-bayes(alpha=1), decision-tree(max_depth=6).",
    )
    label: str | None = option(
        "Application",
        None,
        "Column of a record's class, for what learns.",
        min_length=1,
    )
    text: str | None = option(
        "Application", None, "Column of a record's text, for naive-bayes.", min_length=1
    )
    features: Annotated[tuple[str, ...], BeforeValidator(_names)] = option(
        "Application",
        (),
        "Columns of a record's numbers, for decision-tree, with commas between; without it all.",
        metavar="COLUMNS",
    )

    def __init__(self, /, **options: Any) -> None:
        # For type checkers, as in `PipelineConfig`.
        super().__init__(**options)

    def resolved_application(self) -> Application | None:
        """Give the application; None where a pipeline of its own is run."""
        return None if self.application is None else parse(self.application)

    def learner(self) -> Learner[Any] | None:
        """Give the application if it learns."""
        application = self.resolved_application()
        return application if isinstance(application, Learner) else None

    def labelled(self) -> LabelledStream:
        """Give the generated records that a learner reads."""
        learner = self.learner()
        if learner is None or self.dataset is None:
            message = "only an application that learns reads labelled records, where no input is"
            raise ConfigurationError(message)
        stream = read("dataset of labelled records", self.dataset, learner.streams)
        for name, other in (("length", "messages"), ("seed", "seed")):
            if re.search(rf"\b{name}\b", self.dataset):
                message = f"dataset = {self.dataset!r}: its {name} is the option {other}; use that"
                raise ConfigurationError(message)
        length = stream.length if self.messages is None else self.messages
        return dataclasses.replace(stream, length=length, seed=self.seed)

    def resolved_split(self) -> Split:
        """Give the way to split the input; a learner's needs no key."""
        if self.learner() is None:
            return super().resolved_split()
        split = self.split or split_of(self.input)
        if split not in _FORMATS:
            message = (
                f"split = {split!r}: labelled records have columns: pass an input that is "
                f"{', '.join(_FORMATS)}"
            )
            raise ConfigurationError(message)
        return split

    def pipeline(self) -> PipelineConfig:
        """Give the pipeline that is run: this one's, with the options of its application.

        Raises
        ------
        ConfigurationError
            An option is told that the application sets.
        """
        told = {
            name: value
            for name, value in self.model_dump(exclude_unset=True).items()
            if name not in _OWN
        }
        application = self.resolved_application()
        if isinstance(application, PipelineApplication):
            sets = application.options(self)
            for name in sets.keys() & told.keys():
                message = (
                    f"{name} = {told[name]!r}: application {application} sets it to "
                    f"{sets[name]!r}; drop one of them"
                )
                raise ConfigurationError(message)
            told |= sets
        return PipelineConfig(**told)

    def _check_input(self) -> None:
        learner = self.learner()
        for name in _OF_LEARNERS if learner is None else _OF_PIPELINES:
            if name in self.model_fields_set and getattr(self, name) not in (None, ()):
                why = f"application {learner} has no use for it"
                if learner is None:
                    why = "only applications that learn take it"
                message = f"{name} = {getattr(self, name)!r}: {why}; drop it"
                raise ConfigurationError(message)
        if learner is None:
            if self.dataset is not None:
                self._derive("dataset", generated(self.dataset).name)
            super()._check_input()
            return
        if self.input:
            if self.dataset is not None:
                message = "dataset and input are both given: a run reads one of them"
                raise ConfigurationError(message)
            return
        if self.dataset is None:
            self._derive("dataset", next(iter(learner.streams)))
        self._derive("dataset", self.labelled().name)

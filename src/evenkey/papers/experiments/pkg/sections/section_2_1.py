"""PKG, section 2.1: latency of queries of a model that is merged or stays on the workers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from evenkey.papers.experiments import Dataset, Experiment, Scale, Timed, TimedRun
from evenkey.papers.experiments.pkg.sections.application_state import APPLICATIONS, records_of
from evenkey.reports.pictures import Axis, Chart, Column

if TYPE_CHECKING:
    from evenkey.papers.experiments import Frame
    from evenkey.papers.experiments.scenario import OnMessages

_DOCUMENTS, _WORKERS, _QUERIES = 5_000, 8, 7
_MODELS = {
    "merged": "merged, each document on one worker",
    "parts": "on the workers, each word on its worker",
}


@dataclass(frozen=True)
class QueryLatency(Timed):
    """Measures the time that Spark takes to classify documents with a naive Bayes model.

    Parameters
    ----------
    model
        ``merged``: the task of a document has the whole model. ``parts``: PKG sends each word to a
        worker, which answers for it, and the answers are added up by document.
    documents
        Number of documents of a query.
    """

    kind: ClassVar[str] = "query-latency"
    fresh: ClassVar[bool] = True

    model: str
    documents: int

    @property
    def at_once(self) -> int:
        """The two models alternate."""
        return len(_MODELS)

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Train a model, and query it several times; the first query does not count."""
        from evenkey.applications import InProcess, NaiveBayes, classify, classify_by_words
        from evenkey.spark import session
        from evenkey.spark.sessions import change_session

        records = records_of(self.dataset, self.dataset.seed)
        model = InProcess(NaiveBayes(), "pkg", _WORKERS).train([records]).model
        change_session(self.kind)
        texts = records["text"].to_pylist()[: self.documents]
        spark = session(settings={"spark.sql.shuffle.partitions": str(_WORKERS)})
        asked = spark.createDataFrame(list(enumerate(texts)), "id int, text string").cache()
        asked.count()
        taken = []
        for _ in range(_QUERIES + 1):
            began = time.perf_counter()
            if self.model == "merged":
                answers = classify(asked, model)
            else:
                answers = classify_by_words(asked, "id", "text", model, workers=_WORKERS)
            answers.collect()
            taken.append(time.perf_counter() - began)
        asked.unpersist()
        if on_messages is not None:
            on_messages(self.documents * _QUERIES)
        return TimedRun({}, {"latency_ms": 1000 * median(taken[1:])})


class LatencyOfQueries(Experiment):
    id = "pkg-section-2-1"
    title = "Latency of queries of naive Bayes"
    summary = (
        f"A naive Bayes model of {_DOCUMENTS:,} documents classifies documents on Spark. It is "
        f"merged, so that the task of a document has the whole model; or it stays on {_WORKERS} "
        "workers, to which PKG sends the words, and their answers are added up by document. A "
        f"query is one batch; the figure is the median of {_QUERIES} queries after one that does "
        "not count. Medians of three models."
    )
    table = "Latency of queries"
    columns = (
        Column("documents", "Documents of a query", ",d"),
        Column("where", "Model"),
        Column("latency_ms", "Latency, ms", ",.0f"),
    )
    charts = (
        Chart(
            "Latency of queries",
            Axis("documents", "Documents of a query", "category"),
            Axis("latency_ms", "Latency, ms"),
            "where",
            kind="bars",
            legend="Model",
        ),
    )

    def scenarios(self, scale: Scale) -> list[QueryLatency]:
        stream = Dataset(APPLICATIONS["naive-bayes"], _DOCUMENTS)
        return [
            QueryLatency(stream, model, documents, repeats=scale.repeats)
            for documents in (1, 1000)
            for model in _MODELS
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(where=frame["model"].map(_MODELS))

"""The configuration of a join pipeline: all options of ``evenkey join run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe.join_seen import LoadMeasure
from evenkey.pipeline.options import (
    MOST,
    MOST_TASKS,
    AnyPath,
    KafkaOptions,
    RunOptions,
    check_outside,
    option,
)

if TYPE_CHECKING:
    from pathlib import Path

PipelineName = Literal["sps", "spis", "rihps", "risps"]
ModeName = Literal[
    "static-strl",
    "static-stal",
    "dynamic-db-strl",
    "dynamic-db-stal",
    "dynamic-lb-strl",
    "dynamic-lb-stal",
]
MODES: tuple[ModeName, ...] = get_args(ModeName)
"""Names of the paper's six modes, the baseline first."""


class JoinConfig(KafkaOptions, RunOptions):
    """The configuration of a geospatial publish/subscribe pipeline.

    The options of the Distributor, which moves partitions between workers, have the defaults of
    the paper's Table 1.

    Examples
    --------
    >>> JoinConfig(pipeline="spis", skew=0.7).partitions_or_default
    64
    >>> JoinConfig(pipeline="spis", skew=7)
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: skew = 7: must be at most 1

    >>> config = JoinConfig(pipeline="spis", mode="dynamic-db-stal")
    >>> config.name, config.draws, str(config.load_measure), config.subject
    ('spis dynamic-db-stal', True, 'items', 'static')
    >>> config.epoch_publications
    2000
    >>> config.check_paths()  # it draws its input, and writes nowhere
    """

    publications: int = option(
        "Stream",
        20_000,
        "Publications of the stream; the paper has 100,000.",
        ge=1,
        le=MOST,
        first=True,
    )
    skew: float = option(
        "Stream",
        0.5,
        "Share of the stream that goes to 3 of 16 workers (or to 3/16 of all workers).",
        ge=0,
        le=1,
        first=True,
        metavar="SHARE",
    )
    polygon_share: float = option(
        "Stream",
        0.6,
        "Share of polygons among publications; the rest are points.",
        ge=0,
        le=1,
        metavar="SHARE",
    )
    polygon_clustering: float = option(
        "Stream",
        0.0,
        "How much the share of polygons varies by region: 0 not at all, 1 most.",
        ge=0,
        le=1,
        metavar="NUMBER",
    )
    seconds: float = option(
        "Stream",
        120.0,
        "Length of the stream in event time.",
        gt=0,
        metavar="SECONDS",
    )
    arrival_rate: float | None = option(
        "Stream",
        None,
        "Publications that arrive per second of real time; the report then has their latency. By "
        "default all are available at the start.",
        gt=0,
        metavar="RATE",
    )
    sources: int = option(
        "Stream", 2, "Tasks that generate publications.", ge=1, le=MOST_TASKS, free=True
    )
    input: AnyPath | None = option(
        "Stream",
        None,
        "Directory of Parquet files with columns publication (bigint) and geometry (WKB), read "
        "instead of generating publications.",
        first=True,
        metavar="DIR",
    )
    seed: int = option("Stream", 0, "Another seed gives other subscriptions and publications.")

    subscriptions: int = option(
        "Static side", 10_000, "Subscriptions, drawn from polygons.", ge=1, first=True
    )
    polygons: AnyPath | None = option(
        "Static side",
        None,
        "GeoJSON (may be gzipped) or shapefile (.shp) of postcode sectors or districts; default: a "
        "synthetic country.",
        first=True,
    )
    collisions: AnyPath | None = option(
        "Static side", None, "CSV of UK car collisions, around which publications are drawn."
    )

    relation_subject: Literal["subscription", "publication"] = option(
        "Static side",
        "subscription",
        "Subject of the relations: subscription CONTAINS publication, or publication CONTAINS "
        "subscription.",
    )

    pipeline: PipelineName = option(
        "Join", "sps", "How publications find subscriptions.", first=True
    )
    mode: ModeName = option(
        "Join",
        "dynamic-lb-stal",
        "What is balanced, and where rows are joined.",
        first=True,
        metavar="MODE",
    )
    workers: int = option(
        "Join",
        16,
        "Worker slots.",
        ge=1,
        le=MOST_TASKS,
        first=True,
        pinned="space was divided, and publications were drawn, for the first number of workers",
    )
    partitions: int | None = option(
        "Join", None, "Partitions; default: 4 per worker.", ge=1, le=MOST_TASKS
    )
    partitioner: Literal["kdb", "quad-tree"] = option("Join", "kdb", "How space is divided.")
    slow_down: float = option(
        "Join",
        1.0,
        "How much slower matching is than its processor time: a worker sleeps for the rest, so "
        "that many workers work side by side on few cores.",
        ge=1,
        free=True,
        metavar="TIMES",
    )
    cache_mb: int = option(
        "Join",
        1024,
        "Static data that a worker process caches, in MiB.",
        ge=1,
        free=True,
        metavar="MIB",
    )

    threshold: float = option(
        "Distributor",
        0.5,
        "MLDC above which partitions move.",
        ge=0,
        free=True,
        metavar="MLDC",
    )
    min_items: int = option(
        "Distributor", 1000, "Items of the stream before partitions may move.", ge=0, free=True
    )
    wait_periods: int = option(
        "Distributor", 3, "Periods to wait after partitions moved.", ge=0, free=True
    )
    period: float = option(
        "Distributor",
        10.0,
        "Seconds between two checks.",
        gt=0,
        free=True,
        metavar="SECONDS",
    )
    min_improvement: float = option(
        "Distributor", 0.3, "By how much a move must lower MLDC.", ge=0, free=True
    )
    load_clock: Literal["processor", "wall"] = option(
        "Distributor", "processor", "Clock of load in seconds (LB): processor or elapsed time."
    )
    force_redistribution: int | None = option(
        "Distributor", None, "Epoch before which partitions move in any case.", ge=1
    )

    epochs: int = option("Run", 10, "Micro-batches that the stream is cut into.", ge=1)
    verify: bool = option(
        "Run", default=False, description="Compare the results with a join in one process."
    )

    @property
    def partitions_or_default(self) -> int:
        """Number of partitions."""
        return self.partitions or 4 * self.workers

    @property
    def epoch_publications(self) -> int:
        """Number of generated publications in each epoch except the last."""
        return -(-self.publications // self.epochs)

    @property
    def name(self) -> str:
        """Pipeline and mode, such as ``spis dynamic-lb-stal``."""
        return f"{self.pipeline} {self.mode}"

    @property
    def draws(self) -> bool:
        """Whether the run generates its publications, with the option ``skew``."""
        return self.input is None and self.kafka is None

    @property
    def subject(self) -> Literal["stream", "static"]:
        """Side of the join whose geometry is the subject of a relation, as in `SpatialMatch`."""
        return "static" if self.relation_subject == "subscription" else "stream"

    @property
    def load_measure(self) -> LoadMeasure:
        """The measure of load that the mode uses; seconds if the mode does not move partitions."""
        from evenkey.joins import Mode  # imported here, since it needs Spark

        rows = Mode.parse(self.mode).balance == "rows"
        return LoadMeasure.ITEMS if rows else LoadMeasure.SECONDS

    def check_paths(self) -> None:
        """Check before the run that inputs can be read and that the output can be written.

        Raises
        ------
        ConfigurationError
            An input is missing, the output cannot be a directory, the Kafka connector is missing,
            or no broker answers.
        """
        for name in ("input", "polygons", "collisions"):
            path: Path | None = getattr(self, name)
            if path is not None and not path.exists():
                message = f"{name} {path} does not exist: name an existing file"
                raise ConfigurationError(message)
        check_outside(self.output, () if self.input is None else (self.input,))
        super().check_paths()

    def check(self) -> None:
        """Raise `ConfigurationError` for options that contradict each other."""
        if self.partitions is not None and self.partitions < self.workers:
            message = (
                f"partitions = {self.partitions}: {self.workers} workers need at least one each; "
                f"pass about {4 * self.workers}"
            )
            raise ConfigurationError(message)
        given = [
            name for name in ("input", "kafka", "collisions") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            message = (
                f"{' and '.join(given)} are both given: publications have one source: leave out one"
            )
            raise ConfigurationError(message)
        if self.input is not None and self.arrival_rate is not None:
            message = (
                f"arrival_rate = {self.arrival_rate:g}: publications of files are available at the "
                "start; leave out arrival_rate or input"
            )
            raise ConfigurationError(message)
        if self.follow and self.verify:
            message = (
                "follow and verify are both given: a followed run has no end at which results can "
                "be compared; leave out one"
            )
            raise ConfigurationError(message)
        self.check_kafka_input(None)
        self.check_kafka_output("parquet" if self.output_kafka is None else "kafka")
        super().check()

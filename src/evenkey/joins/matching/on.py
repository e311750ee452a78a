"""The condition of a join: equal key columns, or a spatial relation and one of four pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.spelling import unknown_name
from evenkey.joins.matching.by_space import BruteForce, Candidates, Indexed, SpatialJoin
from evenkey.joins.space.relations import codes_of

if TYPE_CHECKING:
    from evenkey.joins.matching.partition_join import PartitionJoin
    from evenkey.joins.space.partitioners import Leaves

Pipeline = Literal["sps", "spis", "rihps", "risps"]

PIPELINES: dict[str, type[SpatialJoin]] = {
    "sps": BruteForce,
    "spis": Indexed,
    "rihps": Candidates,
    "risps": Candidates,
}
"""The four pipelines, and the class with which each joins within a partition."""

PARTITIONERS = ("kdb", "quad-tree")


@dataclass(frozen=True)
class Keys:
    """Equality of key columns that have the same names on both sides."""

    columns: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Convert to the fields that a manifest stores."""
        return {"by": "keys", "columns": list(self.columns)}


@dataclass(frozen=True)
class SpatialMatch:
    """Condition of a join by space: a spatial relation of the stream's and the static geometry.

    Parameters
    ----------
    geometry
        Binary column with geometries (WKB), of the same name on both sides.
    relation
        Name of one of the nine relations, such as ``within``; applies to all rows.
    relation_column
        Column of the static side with the name of each static row's relation, used in place of
        `relation`. None: `relation` applies to all rows.
    subject
        The side whose geometry comes before the relation: ``stream``, as in "position within
        region"; or ``static``, as in "region contains position".
    pipeline
        How partitions are made and joined. ``sps``: both sides are partitioned by space, and each
        stream row is compared with each static row of its partition. ``spis``: as ``sps``, but a
        spatial index per partition finds the rows to compare. ``rihps``, ``risps``: every worker
        has an index of the envelopes of all static rows, which finds the candidates of a stream
        row. Each static row is in one partition, chosen by hash (``rihps``) or by space
        (``risps``).
    partitioner
        ``kdb`` or ``quad-tree``, for the pipelines that partition by space.
    keep_geometry
        Whether the result has the stream's geometry. The result never has the static geometry and
        relation.

    Raises
    ------
    ConfigurationError
        The relation, subject, pipeline or partitioner is unknown, or shapely is not installed.

    Examples
    --------
    >>> match = SpatialMatch(relation="within")
    >>> match.relation, match.pipeline
    ('within', 'spis')

    >>> by_hash = SpatialMatch(pipeline="rihps")
    >>> by_hash.replicates_index, by_hash.by_hash, by_hash.to_json()["by"]
    (True, True, 'space')
    """

    geometry: str = "geometry"
    relation: str = "intersects"
    relation_column: str | None = None
    pipeline: Pipeline = "spis"
    partitioner: Literal["kdb", "quad-tree"] = "kdb"
    keep_geometry: bool = False
    subject: Literal["stream", "static"] = "stream"

    def __post_init__(self) -> None:
        load_extra("shapely", "geo", "a spatial join")
        check_fields(self)
        codes_of([self.relation])
        kinds = (
            ("pipeline", self.pipeline, PIPELINES),
            ("partitioner", self.partitioner, PARTITIONERS),
            ("subject", self.subject, ("stream", "static")),
        )
        for kind, name, known in kinds:
            if name not in known:
                error = unknown_name(kind, name, known)
                raise error
        if self.geometry == self.relation_column:
            message = (
                f"geometry and relation_column are both {self.geometry!r}: the name of each row's "
                "relation needs a column of its own"
            )
            raise ConfigurationError(message)

    @property
    def replicates_index(self) -> bool:
        """Whether every worker holds an index of all static envelopes."""
        return self.pipeline in ("rihps", "risps")

    @property
    def by_hash(self) -> bool:
        """True: static rows are partitioned by hash. False: they are partitioned by space."""
        return self.pipeline == "rihps"

    def within_partitions(self, leaves: Leaves, columns: tuple[str, ...]) -> PartitionJoin:
        """Make the join within a partition.

        Parameters
        ----------
        leaves
            Regions of the partitions.
        columns
            The stream's columns in the result.
        """
        # If the only leaf is the whole plane, each pair is found once, so no bounds are needed.
        bounds = None if self.replicates_index or leaves.partitions == 1 else leaves.bounds
        return PIPELINES[self.pipeline](self.geometry, columns, self.geometry, bounds)

    def to_json(self) -> dict[str, Any]:
        """Convert to the fields that a manifest stores: all that static partitions depend on."""
        # Omit the default, so that the fields equal those in manifests that were written before the
        # option `subject` existed.
        subject = {} if self.subject == "stream" else {"subject": self.subject}
        return {
            "by": "space",
            **subject,
            "geometry": self.geometry,
            "relation": self.relation,
            "relation_column": self.relation_column,
            "pipeline": self.pipeline,
            "partitioner": self.partitioner,
        }

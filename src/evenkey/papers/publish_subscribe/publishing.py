"""Generated publications as a stream that can be replayed."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from evenkey.joins import Leaves
from evenkey.papers.publish_subscribe.config import JoinConfig
from evenkey.papers.publish_subscribe.places import (
    Atlas,
    CandidateOwners,
    PublicationMix,
    Publications,
    draw_subscriptions,
    read_atlas,
    read_collisions,
    synthetic_atlas,
)
from evenkey.pipeline.runs import Reading, keep_reading, recall_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.stores import Store
    from evenkey.pipeline.runs import RunDirectory

PUBLICATIONS = "publication bigint, geometry binary, time timestamp"

_BATCH_ROWS = 1 << 14
_MOST_LOADED = 2

_loaded: dict[str, Publications] = {}
_lock = threading.Lock()


def atlas_of(config: JoinConfig) -> Atlas:
    """Read or generate the polygons from which subscriptions and publications are drawn."""
    return synthetic_atlas() if config.polygons is None else read_atlas(config.polygons)


class PublicationsReading(Reading):
    """Reads generated publications; source i mod S of the S sources makes publication number i.

    Parameters
    ----------
    store
        Store of the run, which contains the parameters of the publications. These are too large to
        be sent with every task.
    total, rate
        As for `Reading`.
    """

    schema = PUBLICATIONS

    def __init__(self, store: Store, total: int, rate: float) -> None:
        super().__init__(total, rate)
        self._store = store
        # The path cannot be the key of the cache: another run with the same output has other
        # publications.
        self._token = uuid.uuid4().hex

    @property
    def publications(self) -> Publications:
        """The generator of the publications.

        Raises
        ------
        RunError
            The parameters of the publications cannot be read.
        """
        with _lock:
            if self._token not in _loaded:
                while len(_loaded) >= _MOST_LOADED:
                    del _loaded[next(iter(_loaded))]
                _loaded[self._token] = _load(self._store)
            return _loaded[self._token]

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Make the publications of one source between `start` and `stop`: every S-th number."""
        publications = self.publications
        first = start + (source - start) % sources
        for begin in range(first, stop, _BATCH_ROWS * sources):
            end = min(stop, begin + _BATCH_ROWS * sources)
            numbers = np.arange(begin, end, sources)
            made = publications.make(numbers).append_column("time", self.times(numbers))
            yield from made.to_batches()


def publications_of(config: JoinConfig, leaves: Leaves) -> Publications:
    """Make the generator of publications.

    The skew is usually a share of the publications, by the leaves in which they lie. If the
    pipeline sends publications to their candidates, it is a share of the rows, by the partitions of
    the candidates.
    """
    atlas, owners = atlas_of(config), None
    if config.pipeline in ("rihps", "risps"):
        owners = CandidateOwners.of(
            draw_subscriptions(atlas, config.subscriptions, config.seed),
            leaves,
            config.partitions_or_default,
            by_hash=config.pipeline == "rihps",
        )
    return _made(config, leaves, atlas, _positions(config), owners=owners)


def keep_publications(
    config: JoinConfig, partitioning: Mapping[str, Any], directory: RunDirectory
) -> None:
    """Store the parameters of the publications.

    So a change of the files of polygons or collisions does not change the publications of a run
    that continues.

    Parameters
    ----------
    config
        Configuration of the run.
    partitioning
        The leaves, in the form that the manifest of a static side contains.
    directory
        Directory of the run.
    """
    atlas, positions = atlas_of(config), _positions(config)
    arrays: dict[str, NDArray[Any]] = {"area_of": atlas.area_of, "district_of": atlas.district_of}
    for kind in _KINDS:
        encoded = [bytes(each) for each in shapely.to_wkb(getattr(atlas, kind))]
        arrays[kind] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays[f"{kind}_ends"] = np.cumsum([len(each) for each in encoded])
    if positions is not None:
        arrays["positions"] = positions
    ends = publications_of(config, Leaves.from_json(partitioning)).ends
    if ends is not None:
        arrays["ends"] = ends
    kept = {"config": config.manifest(), "partitioning": dict(partitioning)}
    keep_reading(directory, kept, **arrays)


def _load(store: Store) -> Publications:
    kept, arrays = recall_reading(store)
    polygons = {kind: _polygons(arrays[kind], arrays[f"{kind}_ends"]) for kind in _KINDS}
    atlas = Atlas(**polygons, area_of=arrays["area_of"], district_of=arrays["district_of"])
    leaves = Leaves.from_json(kept["partitioning"])
    config, positions = JoinConfig(**kept["config"]), arrays.get("positions")
    return _made(config, leaves, atlas, positions, ends=arrays.get("ends"))


_KINDS = ("areas", "districts", "sectors")


def _polygons(encoded: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.object_]:
    pieces = np.split(encoded, ends[:-1])
    return np.asarray(shapely.from_wkb([each.tobytes() for each in pieces]), dtype=object)


def _positions(config: JoinConfig) -> NDArray[np.float64] | None:
    return None if config.collisions is None else read_collisions(config.collisions)


def _made(
    config: JoinConfig,
    leaves: Leaves,
    atlas: Atlas,
    positions: NDArray[np.float64] | None,
    *,
    owners: CandidateOwners | None = None,
    ends: NDArray[np.float64] | None = None,
) -> Publications:
    mix = PublicationMix(config.skew, config.polygon_share, config.polygon_clustering)
    return Publications(
        atlas, leaves, config.workers, mix, config.seed, positions, owners=owners, ends=ends
    )

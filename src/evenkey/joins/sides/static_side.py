"""The static side of a join: written to a store, read from the store, or replaced there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name
from evenkey.joins.matching.on import Keys, SpatialMatch
from evenkey.joins.sides.sides import check_store, renamed
from evenkey.joins.sides.writing import write_static
from evenkey.joins.space.partitioners import Leaves
from evenkey.joins.static.fingerprint import fingerprint_of
from evenkey.joins.static.static_store import StaticStore
from evenkey.joins.static.stored_dead_letters import dead_letters_at
from evenkey.spark.keys import check_frame
from evenkey.spark.sessions import at_state, returned
from evenkey.spark.slots import state_at

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.static.fingerprint import Fingerprint
    from evenkey.joins.static.manifest import Manifest

STATIC = "static"
"""Name under which the static side is stored in a join's state."""

IfChanged = Literal["error", "refresh", "reuse"]
"""What to do if the static side in a state differs from the static side that is passed."""


def static_store(state: Store) -> StaticStore:
    """Return the static store in a join's state."""
    return StaticStore(state.under(STATIC))


def static_side(
    static: DataFrame,
    store: StaticStore,
    on: Keys | SpatialMatch,
    held: Held | None,
    *,
    partitions: int,
    if_changed: IfChanged,
    dead_letters: DeadLetters | None,
) -> Manifest:
    """Return the version of the static side that a join uses; write it if there is none yet.

    Parameters
    ----------
    static, on, partitions, dead_letters
        As for `write_static`.
    store
        Store of the versions.
    held
        Contents of the store, as `held_side` returned them.
    if_changed
        As for `balanced_join`. Unless it is ``reuse``, `static` is read once more, for its
        fingerprint.

    Raises
    ------
    ConfigurationError
        The static side in the store differs from `static`, or belongs to another join.
    RunError
        As for `write_static`.
    """
    if if_changed not in get_args(IfChanged):
        error = unknown_name("if_changed", if_changed, get_args(IfChanged))
        raise error
    if held is not None:
        check_store(held.latest, static, on, partitions)
    given = None if if_changed == "reuse" else fingerprint_of(static)
    if held is None:
        return write_static(
            static,
            store,
            on,
            partitions=partitions,
            dead_letters=dead_letters,
            fingerprint=given,
        )
    if given is None or held.latest.fingerprint == given:
        return held.latest
    if if_changed == "refresh":
        return _replace(held.latest, static, store, dead_letters, given, refreshed=False)
    if given not in held.replaced:
        raise ConfigurationError(_changed(held.latest, store, given))
    return held.latest


@returned
class Held(NamedTuple):
    """Contents of a static store: the latest version, and fingerprints of earlier versions.

    `replaced` has the fingerprints of the versions that `refresh` has replaced, including the
    original version.
    """

    latest: Manifest
    replaced: list[Fingerprint | None]


def held_side(session: SparkSession, store: StaticStore) -> Held | None:
    """Return the contents of a static store; None if it is empty."""
    return at_state(session, partial(_held, store))


def _held(store: StaticStore) -> Held | None:
    """Read the contents of a store, in a process that has access to the store."""
    numbers = store.versions()
    if not numbers:
        return None
    latest = before = store.manifest(store.version(numbers.pop()))
    replaced: list[Fingerprint | None] = []
    while before.refreshed and numbers:
        before = store.manifest(store.version(numbers.pop()))
        replaced.append(before.fingerprint)
    return Held(latest, replaced)


def _changed(latest: Manifest, store: StaticStore, given: Fingerprint) -> str:
    known = latest.fingerprint
    if known is None:
        difference = "it was written with 'reuse', so it is not known to be the same"
    elif known.rows != given.rows:
        difference = f"it has {known.rows:,} rows, the one given {given.rows:,}"
    else:
        difference = f"both have {given.rows:,} rows, but not the same ones"
    state = store.url.removesuffix(f"/{STATIC}")
    return (
        f"state = {state!r} holds another static side than the one given ({difference}): pass "
        "if_changed='refresh' to replace it by the one given, if_changed='reuse' to join with "
        "the one in the state, or another state"
    )


def refresh(
    static: DataFrame,
    state: str | Path | Store,
    *,
    dead_letters: DeadLetters | str | Path | Store | None = None,
) -> int:
    """Replace the static side of a join, while its query runs or before it starts again.

    Each epoch uses one version. The next epoch that begins uses the new version. An epoch that runs
    again after a restart uses the same version as before. If a program calls `balanced_join` with
    the previous DataFrame, or with the DataFrame of an earlier refresh, the join uses the new
    version.

    Parameters
    ----------
    static
        The new static side: a DataFrame with the same columns as the one passed to `balanced_join`.
    state
        The state that was passed to `balanced_join`.
    dead_letters
        Where to write rows whose geometry cannot be used, with a column ``reason``: a location for
        Parquet files, or an object with a method ``write``, as for `balanced_join`. None: such a
        row is an error.

    Returns
    -------
    int
        Number of the new version.

    Raises
    ------
    ConfigurationError
        The columns differ from those of the previous version.
    RunError
        `state` has no static side to refresh. Also raised in the cases listed for `balanced_join`.

    Examples
    --------
    >>> clicks = spark.createDataFrame([("ann", 1), ("bob", 2)], "user string, amount int")
    >>> cities = spark.createDataFrame([("ann", "Oslo")], "user string, city string")
    >>> import tempfile
    >>> from evenkey.joins import balanced_join
    >>> state = tempfile.mkdtemp()
    >>> joined = balanced_join(clicks, cities, on="user", workers=2, state=state)
    >>> refresh(cities.limit(0), state)
    2
    """
    check_frame(static, "static")
    session = static.sparkSession
    store = static_store(state_at(session, state))
    latest = at_state(session, partial(_latest, store))
    on = _match_of(latest)
    joined = on.columns if isinstance(on, Keys) else (on.geometry,)
    static = renamed(static, joined, joined)
    given = None if latest.fingerprint is None else fingerprint_of(static)
    writer = dead_letters_at(session, dead_letters)
    return _replace(latest, static, store, writer, given, refreshed=True).version.number


def _replace(
    latest: Manifest,
    static: DataFrame,
    store: StaticStore,
    dead_letters: DeadLetters | None,
    fingerprint: Fingerprint | None,
    *,
    refreshed: bool,
) -> Manifest:
    """Write a new version that is divided into partitions in the same way as the latest version."""
    on = _match_of(latest)
    leaves = None if isinstance(on, Keys) else Leaves.from_json(latest.partitioning)
    check_store(latest, static, on, latest.partitions)
    return write_static(
        static,
        store,
        on,
        partitions=latest.partitions,
        leaves=leaves,
        dead_letters=dead_letters,
        fingerprint=fingerprint,
        refreshed=refreshed,
    )


def _latest(store: StaticStore) -> Manifest:
    return store.manifest(store.latest())


def _match_of(manifest: Manifest) -> Keys | SpatialMatch:
    """Return the join condition for which a version was written."""
    fields = {name: value for name, value in manifest.partitioning.items() if name != "leaves"}
    by_keys = fields.pop("by") == "keys"
    return Keys(tuple(fields["columns"])) if by_keys else SpatialMatch(**fields)

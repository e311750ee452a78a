"""Pieces: the objects in which the states of a partition are stored, each written once."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import at_once
from evenkey.core.whole_files import check_format, sealed, unsealed
from evenkey.spark.slots import find, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.stores import Store

FORMAT = 1
"""Version number of the format of all objects in a state."""
NEW_STATE = "pass a new location as state, and start with a new checkpoint"
"""What to do if the state has another format, for error messages."""
_ABOUT = b"evenkey"


class Version(NamedTuple):
    """Identity of what one attempt of a task wrote in an epoch.

    Parameters
    ----------
    epoch
        Number of the epoch.
    attempt
        Random text. Each attempt of a task has another one, also after a restart.
    """

    epoch: int
    attempt: str


class Piece(NamedTuple):
    """The content of a piece.

    Parameters
    ----------
    table
        States of keys, in ascending order of their hashes.
    before
        The versions whose pieces have to be read first, in this order. Empty: the piece is a
        snapshot, and its table has the states of all keys of the partition. Otherwise the piece has
        the changes of an epoch. The first of the versions is a snapshot, or has the first states of
        the partition.
    """

    table: pa.Table
    before: tuple[Version, ...]


class Pieces:
    """Writes and reads the pieces of a query's partitions.

    An attempt writes pieces under names that no other attempt uses, so nothing is ever replaced. A
    piece counts once a plan names its version.

    Parameters
    ----------
    store
        Store of the query.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, version: Version, partition: int, piece: Piece) -> None:
        """Write a piece.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        about = json.dumps({"format": FORMAT, "before": piece.before}).encode()
        schema = piece.table.schema.with_metadata({_ABOUT: about})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_table(piece.table.cast(schema))
        put(self._store, name_of(version, partition), sealed(sink.getvalue().to_pybytes()))

    def read(self, version: Version, partition: int) -> Piece:
        """Read a piece, and check that it is what was written.

        Raises
        ------
        RunError
            The piece is missing or corrupt.
        """
        name = name_of(version, partition)
        path, content = self._store.path(name), find(self._store, name)
        if content is None:
            message = f"states {path} are missing: {_WAYS_OUT}"
            raise RunError(message)
        try:
            table = pa.ipc.open_stream(unsealed(content)).read_all()
            about = json.loads(table.schema.metadata[_ABOUT])
            check_format(path, about["format"], FORMAT, NEW_STATE)
            before = tuple(Version(*each) for each in about["before"])
        except ConfigurationError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            message = f"states {path} cannot be read ({error}): {_WAYS_OUT}"
            raise RunError(message) from error
        return Piece(table.replace_schema_metadata(None), before)

    def chain(self, head: Version, partition: int) -> tuple[list[pa.Table], tuple[Version, ...]]:
        """Read all pieces of a partition's version: their tables and versions, oldest first."""
        last = self.read(head, partition)
        pieces = at_once(partial(self.read, partition=partition), last.before)
        return [*(each.table for each in pieces), last.table], (*last.before, head)

    def delete(self, named: Sequence[tuple[Version, int]]) -> None:
        """Delete pieces of versions and partitions; a piece that cannot be deleted stays."""
        at_once(partial(forget, self._store), [name_of(*each) for each in named])


def forget(store: Store, name: str) -> bool:
    """Delete an object that is not needed any more; return whether this was possible."""
    try:
        store.delete(name)
    except OSError:
        return False
    return True


def epoch_folder(epoch: int) -> str:
    """Return the folder of all that belongs to an epoch."""
    return f"epochs/{epoch:010d}"


def name_of(version: Version, partition: int) -> str:
    """Return the name of a piece."""
    return f"{epoch_folder(version.epoch)}/pieces/{version.attempt}/p{partition:05d}.arrow"


_WAYS_OUT = "restore them, or start with a new checkpoint and a new state"

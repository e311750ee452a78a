"""Stores: storage for state that the driver and all executors share."""

from evenkey.core.stores.base import Store
from evenkey.core.stores.buckets import Bucket
from evenkey.core.stores.local import LocalStore
from evenkey.core.stores.shared import (
    OUTPUT_REMEDY,
    SHARED,
    STATE_REMEDY,
    SharedMark,
    read_shared,
    unseen,
)
from evenkey.core.stores.side_by_side import at_once
from evenkey.core.stores.store_uris import local_path, scheme_of, store_at

__all__ = [
    "OUTPUT_REMEDY",
    "SHARED",
    "STATE_REMEDY",
    "Bucket",
    "LocalStore",
    "SharedMark",
    "Store",
    "at_once",
    "local_path",
    "read_shared",
    "scheme_of",
    "store_at",
    "unseen",
]

"""Stores: where state lies that the driver and all executors share."""

from evenkey.core.stores.local import LocalStore
from evenkey.core.stores.meeting import SHARED, STATE_MEND, meet, unseen
from evenkey.core.stores.places import local_path, scheme_of, store_at
from evenkey.core.stores.side_by_side import at_once
from evenkey.core.stores.store import Store

__all__ = [
    "SHARED",
    "STATE_MEND",
    "LocalStore",
    "Store",
    "at_once",
    "local_path",
    "meet",
    "scheme_of",
    "store_at",
    "unseen",
]

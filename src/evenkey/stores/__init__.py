"""Stores: where state lies that the driver and all executors share."""

from evenkey.stores.local import LocalStore
from evenkey.stores.places import local_path, scheme_of, store_at
from evenkey.stores.store import Store

__all__ = ["LocalStore", "Store", "local_path", "scheme_of", "store_at"]

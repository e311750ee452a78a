"""Worker slots, their caches, and the objects that they store between the epochs of a stream."""

from __future__ import annotations

from evenkey.spark.slots.cache import CacheKey, Sized, WorkerCache, process_cache
from evenkey.spark.slots.returned_tables import ReturnedTables, explained, parsed_schema
from evenkey.spark.slots.stored_objects import create, delete_all, find, put, state_at
from evenkey.spark.slots.worker_slots import on_slots, own_processes

__all__ = [
    "CacheKey",
    "ReturnedTables",
    "Sized",
    "WorkerCache",
    "create",
    "delete_all",
    "explained",
    "find",
    "on_slots",
    "own_processes",
    "parsed_schema",
    "process_cache",
    "put",
    "state_at",
]

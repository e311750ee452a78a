"""Kafka: addresses, settings of its clients, the source, the sink, the reader, the producer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkey.topology.kafka.address import Address
from evenkey.topology.kafka.client import ClientSettings

if TYPE_CHECKING:
    from evenkey.topology.kafka.producing import produce
    from evenkey.topology.kafka.results import read_results

__all__ = ["Address", "ClientSettings", "produce", "read_results"]

_HOMES = {"produce": "producing", "read_results": "results"}


def __getattr__(name: str) -> Any:
    # Configurations are made and checked without Spark and without Kafka's clients.
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)

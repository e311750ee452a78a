"""Kafka: addresses, settings of its clients, the source, the sink, the reader, the producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.kafka.address import Address
from evenkey.kafka.client import ClientSettings

if TYPE_CHECKING:
    from evenkey.kafka.producing import produce
    from evenkey.kafka.results import read_results

__all__ = ["Address", "ClientSettings", "produce", "read_results"]

__getattr__ = late(
    __name__,
    {"produce": "evenkey.kafka.producing", "read_results": "evenkey.kafka.results"},
)

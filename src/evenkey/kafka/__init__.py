"""Kafka: send records to a topic, read results from a topic, and set up Kafka's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.kafka.client import ClientSettings
from evenkey.kafka.client import Isolation as Isolation
from evenkey.kafka.topic_address import Address

if TYPE_CHECKING:
    from evenkey.kafka.admin import Admin as Admin
    from evenkey.kafka.admin import Offsets as Offsets
    from evenkey.kafka.admin import TopicState as TopicState
    from evenkey.kafka.avro import read_schema as read_schema
    from evenkey.kafka.connector import check_findable as check_findable
    from evenkey.kafka.connector import check_loaded as check_loaded
    from evenkey.kafka.connector import connector_settings as connector_settings
    from evenkey.kafka.offsets import OffsetRange as OffsetRange
    from evenkey.kafka.replaying import replayed as replayed
    from evenkey.kafka.source import PLACES as PLACES
    from evenkey.kafka.source import kafka_lines as kafka_lines
    from evenkey.kafka.topic_producer import Produced as Produced
    from evenkey.kafka.topic_producer import produce
    from evenkey.kafka.topic_records import Record
    from evenkey.kafka.topic_records import ValueFormat as ValueFormat
    from evenkey.kafka.topic_records import find_records as find_records
    from evenkey.kafka.topic_results import read_topic

__all__ = [
    "Address",
    "ClientSettings",
    "Record",
    "produce",
    "read_topic",
]

__getattr__ = lazy_names(__name__)

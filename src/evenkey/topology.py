"""Gone since version 0.2; importing it says where each of its names is now."""

from __future__ import annotations

_MESSAGE = (
    "evenkey.topology: since version 0.2 PipelineConfig, run, compare, read_results, RunReport and "
    "EpochProgress are in evenkey; JoinConfig, run_join, compare_joins, produce_publications and "
    "JoinReport in evenkey.applications; what is about Kafka in evenkey.kafka"
)

raise ImportError(_MESSAGE, name=__name__)

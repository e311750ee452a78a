"""Spark's reports of epochs, made up for tests."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["progress"]


def progress(epoch, began, milliseconds, *, rows=40, waited=0):
    """Return Spark's report of an epoch; times are in ms."""
    position = {"numInputRows": rows, "endOffset": '{"position": 40}'}
    closing = {"numInputRows": 0, "endOffset": '{"closed": 0}', "latestOffset": None}
    return {
        "batchId": epoch,
        "timestamp": datetime.fromtimestamp(began / 1000, tz=UTC).isoformat(),
        "durationMs": {"triggerExecution": milliseconds, "latestOffset": waited},
        "sources": [{**position, "latestOffset": '{"position": 100}'}, closing],
        "stateOperators": [
            {"numRowsTotal": 7, "memoryUsedBytes": 900},
            {"numRowsTotal": 3, "memoryUsedBytes": 50},
        ],
    }

"""Post a diagnosis to a webhook when a streaming query ends.

Add the listener to the session before its queries start, with the directory of the event logs and
the application of the session:

    application = spark.sparkContext.applicationId
    listener = DiagnosisListener("https://chat.example/hooks/42", "/srv/spark-events", application)
    spark.streams.addListener(listener)
"""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING

from pyspark.sql.streaming import StreamingQueryListener

from evenkey import diagnose

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class DiagnosisListener(StreamingQueryListener):
    """Posts the stages to change as ``{"text": Markdown}``, which common chats accept.

    Parameters
    ----------
    webhook
        Address to post to.
    source
        What `evenkey.diagnose` reads: a directory of event logs, or the address of a server.
    application
        Spark's id of the session's application; others in `source` are not diagnosed.
    fail_above
        Predicted speedup of a stage above which the diagnosis is posted.
    """

    def __init__(
        self, webhook: str, source: str, application: str, fail_above: float = 1.5
    ) -> None:
        self.webhook = webhook
        self.source = source
        self.application = application
        self.fail_above = fail_above

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Do nothing."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Diagnose the jobs so far, and post what should be changed."""
        del event
        diagnosis = diagnose(self.source, application=self.application)
        if diagnosis.above(self.fail_above):
            post(self.webhook, diagnosis.to_markdown())


def post(webhook: str, text: str) -> None:
    """Post a text to a webhook."""
    body = json.dumps({"text": text}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(webhook, body, headers)  # noqa: S310 - the user's address
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310 - the user's address
        pass

"""An S3 for tests: moto's server, in memory, in a separate process.

``python s3_server.py HOST PORT [FILE]``: FILE may contain a number of seconds, by which the server
delays each answer; it is read before each request.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve until killed."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, run_simple

    host, port, *files = sys.argv[1:]
    application: Any = DomainDispatcherApplication(create_backend_app)
    one_at_a_time = threading.Lock()

    def serve(environ: Any, start: Any) -> Any:
        for file in files:
            time.sleep(_seconds(Path(file)))
        # Moto checks for an object and then writes it; S3 does both in one step.
        with one_at_a_time:
            return application(environ, start)

    class Quiet(WSGIRequestHandler):
        """Keeps connections open, as S3 does, and does not log requests."""

        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            pass

    run_simple(host, int(port), serve, threaded=True, request_handler=Quiet)


def _seconds(file: Path) -> float:
    try:
        return float(file.read_text())
    except (FileNotFoundError, ValueError):
        return 0.0


if __name__ == "__main__":
    main()

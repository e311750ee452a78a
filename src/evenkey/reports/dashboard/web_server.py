"""The dashboard's web server."""

from __future__ import annotations

import socket
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.stores import local_path, scheme_of
from evenkey.pipeline.exporters import ServedHosts

if TYPE_CHECKING:
    from collections.abc import Sequence


class Server:
    """Serves the page for some runs, until it is closed.

    Parameters
    ----------
    directories
        Outputs of runs or comparisons, histories, or directories that contain such outputs or
        histories.
    host, port
        Address to listen on; port 0 means any free port.
    allow_hosts
        Host names that browsers may use, in addition to the names that `ServedHosts` always serves.

    Raises
    ------
    ConfigurationError
        A path is a file, the address cannot be used, an allowed host name is invalid, or a
        package is not installed.
    """

    def __init__(
        self,
        directories: Sequence[str | Path],
        *,
        host: str = "127.0.0.1",
        port: int = 8050,
        allow_hosts: Sequence[str] = (),
    ) -> None:
        for directory in directories:
            # A directory that does not exist yet is allowed: the page waits for it.
            path = local_path(directory) if scheme_of(directory) == "file" else Path()
            if path.exists() and not path.is_dir():
                message = (
                    f"run = {str(directory)!r}: it is not a directory; pass the output directory "
                    "of a run"
                )
                raise ConfigurationError(message)
        load_extra("dash", "dashboard", "the dashboard")
        from werkzeug.serving import WSGIRequestHandler, make_server

        from evenkey.reports.dashboard.dashboard_page import page
        from evenkey.reports.dashboard.watched_runs import Runs

        class Quiet(WSGIRequestHandler):
            """Does not log requests, because each browser sends one request per second."""

            def log_request(self, *_line: object) -> None:
                pass

            def parse_request(self) -> bool:
                """Read the first line and the headers; refuse an invalid path."""
                if not super().parse_request():
                    return False
                try:
                    urlsplit(self.path)
                except ValueError as error:
                    self.send_error(HTTPStatus.BAD_REQUEST, f"malformed request: {error}")
                    return False
                return True

        app = page(Runs(directories))
        served = ServedHosts(app.server, host, allow_hosts)
        with _listening(host, port) as listener:
            port = listener.getsockname()[1]
            self._server = make_server(
                host, port, served, threaded=True, request_handler=Quiet, fd=listener.fileno()
            )
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}/"
        self._serves = False

    def serve(self) -> None:
        """Serve until the process is interrupted or `close` is called from another thread."""
        self._serves = True
        self._server.serve_forever()

    def close(self) -> None:
        """Stop serving and listening."""
        if self._serves:  # otherwise shutdown() would wait for a loop that never started
            self._server.shutdown()
        self._server.server_close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        message = f"cannot listen on {host}:{port} ({error.strerror}); choose another --port"
        raise ConfigurationError(message) from error

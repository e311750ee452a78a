"""The dashboard's web server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError
from evenkey.exporters import load_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Server"]

_PURPOSE = "the dashboard"


class Server:
    """Serves the page over runs, until it is closed.

    Parameters
    ----------
    directories
        Outputs of runs or comparisons, histories, or what holds several of them.
    host, port
        Where to listen; port 0 is any that is free.

    Raises
    ------
    ConfigurationError
        A directory is not there, the address cannot be listened at, or a package is missing.
    """

    def __init__(
        self, directories: Sequence[str | Path], *, host: str = "127.0.0.1", port: int = 8050
    ) -> None:
        for directory in directories:
            if not Path(directory).is_dir():
                message = (
                    f"run = {str(directory)!r}: there is no such directory; name a run's output"
                )
                raise ConfigurationError(message)
        load_extra("dash", "dashboard", _PURPOSE)
        waitress = load_extra("waitress", "dashboard", _PURPOSE)
        from evenkey.dashboard.page import page
        from evenkey.dashboard.runs import Runs

        app = page(Runs([Path(directory) for directory in directories]))
        try:
            self._server: Any = waitress.create_server(app.server, host=host, port=port, threads=8)
        except OSError as error:
            message = (
                f"{host}:{port} cannot be listened at ({error.strerror}); choose another --port"
            )
            raise ConfigurationError(message) from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.effective_port}/"

    def serve(self) -> None:
        """Serve until the process is interrupted or `close` is called from another thread."""
        self._server.run()

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

"""A relay before a server, which loses answers and refuses connections on request."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

__all__ = ["Relay"]


class Relay:
    """Passes bytes between clients and a server on loopback."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.answers_to_lose = 0
        """Number of next answers that are lost although the server has sent them."""
        self.connections_to_refuse = 0
        self.lost = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.connections_to_refuse > 0:
                    self.connections_to_refuse -= 1
                    client.close()
                    continue
                server = socket.create_connection(self._server)
                for one, other, answers in ((client, server, False), (server, client, True)):
                    threading.Thread(
                        target=self._pass, args=(one, other, answers), daemon=True
                    ).start()

    def _pass(self, one: socket.socket, other: socket.socket, answers: bool) -> None:  # noqa: FBT001 - a thread's argument
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                # "100 Continue" only requests the body; a server under load sends the answer of the
                # operation in the same segment.
                if answers and data.startswith(b"HTTP/1.1 100"):
                    head, end, data = data.partition(b"\r\n\r\n")
                    other.sendall(head + end)
                if answers and data and self.answers_to_lose > 0:
                    self.answers_to_lose -= 1
                    self.lost += 1
                    break
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

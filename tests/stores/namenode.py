"""A namenode in this process that speaks WebHDFS and keeps files in memory."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["Namenode"]

_PREFIX = "/webhdfs/v1"
_ABSENT, _TAKEN = "FileNotFoundException", "FileAlreadyExistsException"
_HOLDS = "PathIsNotEmptyDirectoryException"


class Namenode:
    """A server that answers like Hadoop's namenode, and is its own datanode.

    Attributes
    ----------
    refusals
        Exceptions with which it rejects the next requests, such as ``SafeModeException``.
    requests
        Method and operation of all requests so far, including those to the datanode.
    """

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.requests: list[tuple[str, str]] = []
        self._files: dict[str, bytes] = {}
        self._directories = {"/"}
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"namenode": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, options: dict[str, str], content: bytes) -> bytes:
        """Execute the requested operation, and return its answer."""
        operation = options["op"]
        with self._lock:
            self.requests.append((method, operation))
            if self.refusals:
                raise _RefusedError(self.refusals.pop(0), "not now\n\tat a line of Java")
            done: bytes = getattr(self, f"_{operation.lower()}")(path, options, content)
            return done

    def _open(self, path: str, _options: dict[str, str], _content: bytes) -> bytes:
        if path not in self._files:
            raise _RefusedError(_ABSENT, f"File does not exist: {path}")
        return self._files[path]

    def _create(self, path: str, options: dict[str, str], content: bytes) -> bytes:
        if path in self._files and options.get("overwrite") != "true":
            raise _RefusedError(_TAKEN, f"{path} already exists")
        parent = path.rpartition("/")[0]
        while parent:
            self._directories.add(parent)
            parent = parent.rpartition("/")[0]
        self._files[path] = content
        return b""

    def _rename(self, path: str, options: dict[str, str], _content: bytes) -> bytes:
        goal = options["destination"]
        if path not in self._files:
            raise _RefusedError(_ABSENT, f"rename source {path} is not found.")
        if goal in self._files and options["renameoptions"] != "OVERWRITE":
            raise _RefusedError(_TAKEN, f"rename destination {goal} already exists")
        self._files[goal] = self._files.pop(path)
        return b""

    def _liststatus(self, path: str, _options: dict[str, str], _content: bytes) -> bytes:
        if path in self._files:
            listed = [{"pathSuffix": "", "type": "FILE"}]
        elif path in self._directories:
            listed = [
                {"pathSuffix": each.rpartition("/")[2], "type": kind}
                for kind, found in (("FILE", self._files), ("DIRECTORY", self._directories))
                for each in found
                if each != "/" and (each.rpartition("/")[0] or "/") == path
            ]
        else:
            raise _RefusedError(_ABSENT, f"File {path} does not exist.")
        return json.dumps({"FileStatuses": {"FileStatus": listed}}).encode()

    def _delete(self, path: str, options: dict[str, str], _content: bytes) -> bytes:
        within = f"{path.rstrip('/')}/"
        held = [each for each in (*self._files, *self._directories) if each.startswith(within)]
        if held and options.get("recursive") != "true":
            raise _RefusedError(_HOLDS, f"{path} is non empty")
        known = path in self._files or path in self._directories
        for each in (path, *held):
            self._files.pop(each, None)
            self._directories.discard(each)
        return json.dumps({"boolean": known}).encode()


class _RefusedError(Exception):
    """A rejected request: the name of Hadoop's exception, and its message."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    namenode: Namenode

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        options = dict(parse_qsl(parts.query))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if options["op"] == "CREATE" and "datanode" not in options:
            place = f"http://127.0.0.1:{self.namenode.port}{self.path}&datanode=true"
            self._reply(307, b"", Location=place)
            return
        path = unquote(parts.path).removeprefix(_PREFIX)
        try:
            self._reply(200, self.namenode.answer(self.command, path, options, content))
        except _RefusedError as error:
            kind, message = error.args
            fault: dict[str, Any] = {"exception": kind, "message": message}
            body = json.dumps({"RemoteException": fault}).encode()
            self._reply(404 if kind == _ABSENT else 403, body)

    do_GET = do_PUT = do_DELETE = _serve  # noqa: N815 - names of the standard library

    def _reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do not log requests."""

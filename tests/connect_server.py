"""A Spark Connect server: ``python -m tests.connect_server '{"spark.setting": "value"}'``.

It is no process of its client's, as elsewhere: neither sees what the other holds in memory. It
says that it is ready by a line, and ends when its input does, whatever became of the client.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["ConnectServer"]

_READY = "ready"
_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
_PORT = "spark.connect.grpc.binding.port"


class ConnectServer:
    """Started when it is made; ``url`` is where clients find it."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        port = free_port()
        self.url = f"sc://127.0.0.1:{port}"
        command = [sys.executable, "-m", __name__, json.dumps({**settings, _PORT: str(port)})]
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if not any(line.strip() == _READY for line in self._process.stdout):
            code = self._process.wait()
            message = f"the Connect server ended with {code} before it was ready"
            raise RuntimeError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def main(settings: Mapping[str, str]) -> None:
    """Serve until the input ends."""
    builder = SparkSession.builder
    for name, value in {"spark.plugins": _PLUGIN, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    sys.stdout.write(f"{_READY}\n")
    sys.stdout.flush()
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

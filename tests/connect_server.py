"""A Spark Connect server: ``python -m tests.connect_server '{"spark.setting": "value"}'``.

It does not run in the process of its client, so neither sees the memory of the other. It prints a
line when it is ready, and ends when its standard input ends, even if the client was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from evenkey.spark.sessions.java_home import ensure_java
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["ConnectServer"]

_READY = "ready"
_PORT = "spark.connect.grpc.binding.port"
_OF_CLIENTS = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")
_USUAL = {
    "spark.driver.extraJavaOptions": "-Xss4m",
    "spark.log.level": "ERROR",
    "spark.master": "local[4]",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    # As in a classic session, workers start with modules already imported.
    "spark.python.daemon.module": "evenkey.spark.sessions.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class ConnectServer:
    """A server that starts on creation, with the usual and additional settings, at ``url``."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        ensure_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        port = free_port()
        self.url = f"sc://127.0.0.1:{port}"
        command = [sys.executable, "-m", __name__, json.dumps({**settings, _PORT: str(port)})]
        # A client in this process has set an environment variable that marks clients.
        environment = {name: each for name, each in os.environ.items() if name not in _OF_CLIENTS}
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[1],
            env=environment,
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
    for name, value in {**_USUAL, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    sys.stdout.write(f"{_READY}\n")
    sys.stdout.flush()
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

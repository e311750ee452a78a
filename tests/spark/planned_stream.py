"""A user's stream under ``planned``, for a test to kill: ``python -m ... DIRECTORY``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from evenkey import spark as operators
from evenkey.core.streams import generated
from evenkey.spark.sessions.starting import session
from tests.spark import oracle

NAME, MESSAGES, EPOCHS, WORKERS = "country-skew-r80", 18_000, 6, 5
_WORK_SECONDS = 1.5


def main(directory: Path) -> None:
    """Write the keys and workers of each epoch to a separate directory, after slow work."""
    stream = generated(NAME, messages=MESSAGES)
    df = oracle.streaming(session("local[2]"), stream, directory, epochs=EPOCHS)
    tables = directory / "state" / "tables"
    df = operators.route(df, "key", "planned", WORKERS, state=tables)

    def write(batch, epoch):
        time.sleep(_WORK_SECONDS)
        batch.select("key", "worker").write.mode("overwrite").parquet(
            str(directory / "rows" / f"epoch={epoch}")
        )

    query = (
        df.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(directory / "state" / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Convert Avro records to lines of JSON with Spark's Avro module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column


def read_schema(file: Path) -> str:
    """Read an Avro schema.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or does not contain the JSON schema of a record.
    """
    try:
        text = file.read_text("utf-8")
        schema = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"avro_schema {file} cannot be read ({reason}): name a file with an Avro schema"
        raise ConfigurationError(message) from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        message = f"avro_schema {file} is not a record's schema: name a file with type record"
        raise ConfigurationError(message)
    return text


def json_lines(record: Column, schema: str) -> Column:
    """Convert Avro records to JSON objects.

    Parameters
    ----------
    record
        Binary column, in Avro's encoding without a header.
    schema
        Schema of a record, as JSON.

    Returns
    -------
    Column
        Binary column. A value that is not a record of this schema, or that has only nulls, stays
        unchanged. The splitter rejects such a value, and the dead letter shows the original.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    # Spark turns an unreadable record into a row of nulls. By default, `to_json` leaves out nulls,
    # so it writes {} for such a row.
    parsed = from_avro(record, schema, {"mode": "PERMISSIVE"})
    text = F.to_json(parsed, {"ignoreNullFields": "false"})
    return F.when(F.to_json(parsed) != "{}", F.encode(text, "UTF-8")).otherwise(record)

"""Avro records as lines of JSON, by Spark's own module for Avro."""

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
        The file cannot be read, or holds no JSON, or no schema of a record.
    """
    try:
        text = file.read_text("utf-8")
        schema = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"avro_schema {file} cannot be read ({reason}): name a file with an Avro schema"
        raise ConfigurationError(message) from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        message = f"avro_schema {file} is not of a record: name a file whose type is record"
        raise ConfigurationError(message)
    return text


def json_lines(record: Column, schema: str) -> Column:
    """Give Avro records as JSON objects.

    Parameters
    ----------
    record
        Binary, as Avro's own encoding without a header.
    schema
        Of a record, as JSON.

    Returns
    -------
    Column
        Binary. What is no such record, or holds nothing but nulls, stays as it is: the splitter
        rejects it, and the dead letter shows what came.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    # Spark makes a row of nulls of what it cannot read, and JSON leaves nulls out where it may.
    parsed = from_avro(record, schema, {"mode": "PERMISSIVE"})
    text = F.to_json(parsed, {"ignoreNullFields": "false"})
    return F.when(F.to_json(parsed) != "{}", F.encode(text, "UTF-8")).otherwise(record)

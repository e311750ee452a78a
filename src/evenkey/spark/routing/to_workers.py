"""`place`: move each row to the Spark partition of its worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, LongType

from evenkey.core.checking import check_one_of, check_text, check_workers, shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import absent, check_frame, find_columns, key_columns, quoted
from evenkey.spark.sessions.task_slots import check_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_WORD = 1 << 32
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_FMIX_1, _FMIX_2 = 0x85EBCA6B, 0xC2B2AE35


def place(
    df: DataFrame,
    workers: int,
    *,
    column: str = "worker",
    by: Literal["partition", "split"] = "partition",
    key: str | Sequence[str] | None = None,
) -> DataFrame:
    """Move each row to the partition of its worker.

    Parameters
    ----------
    df
        Batch or streaming, with a column of workers of an integer type.
    workers
        Number of workers, W.
    column
        The column that holds the worker.
    by
        ``partition``, for Python code: shuffle rows so that partition i has exactly the rows of
        worker i. Spark knows that rows are partitioned by `column`, so a later join or ``groupBy``
        by `column` needs no further shuffle. ``split``, for Spark's own (stateful) operators: add
        an int column ``split``. Spark's ``groupBy(key..., "split")`` over W partitions then puts
        each row and its state on the row's worker, in a single shuffle. That ``groupBy`` shuffles
        the rows of a stream; the rows of a batch are shuffled already by this call.
    key
        The key columns of that ``groupBy``, which come before ``split``, in their order. Required
        for ``split``, not allowed otherwise.

    Raises
    ------
    ConfigurationError
        A column is missing, the column of workers is not of an integer type, `workers` is below 1,
        or `key` is given without ``split``. Or a stream is placed by ``split``, and
        ``spark.sql.shuffle.partitions`` is not equal to `workers`. A row whose worker is null or
        out of range fails the job when it runs.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> from evenkey.spark import route
    >>> placed = clicks.transform(route, "user", "planned", workers=4).transform(place, workers=4)
    >>> placed.columns
    ['user', 'id', 'worker']
    """
    check_frame(df)
    check_workers(workers)
    check_text("column", column, "worker")
    check_one_of("by", by, ("partition", "split"))
    if key is not None and by != "split":
        message = (
            f"key = {shown(key)}: only by='split' uses a key; pass by='split', or leave out key"
        )
        raise ConfigurationError(message)
    if by == "partition":
        return to_partitions(df, workers, column)
    if key is None:
        message = "by = 'split': it needs key=..., the columns of the groupBy that follows"
        raise ConfigurationError(message)
    keys = key_columns(df, key)
    absent(df, "split")
    worker = _checked(df, column, workers)
    split = df.withColumn("split", split_column(worker, keys, workers))
    if not df.isStreaming:
        return split.repartition(workers, *keys, "split")
    check_partitions(df.sparkSession, workers, "by='split'")
    return split


def to_partitions(df: DataFrame, workers: int, column: str) -> DataFrame:
    """Move the rows of each worker to the partition with the worker's number, as `place` does."""
    # Partition by the column itself, not by an expression of it: otherwise Spark does not know
    # that rows are partitioned by the column, and a later operator by worker shuffles again.
    worker = _checked(df, column, workers)
    return df.withColumn(column, worker).repartitionById(workers, quoted(column))


def _checked(df: DataFrame, column: str, workers: int) -> Column:
    """Return the worker of each row as an int; a row fails unless ``0 <= worker < workers``.

    The expression uses the column only once, so that Spark can merge the expression into the
    projection that computes the worker. If the expression used the column twice, Spark would
    compute the worker twice, or in a separate projection.
    """
    (name,) = find_columns(df, column, "column")
    kind = df.schema[name].dataType
    if not isinstance(kind, IntegralType):
        message = (
            f"column = {name!r} is of type {kind.simpleString()}: workers are whole numbers from 0 "
            f"to {workers - 1}; name the column that route has added"
        )
        raise ConfigurationError(message)
    # Spark casts a subscript to int, which could cut a long to the number of a valid worker.
    subscript = quoted(name).try_cast("int") if isinstance(kind, LongType) else quoted(name)
    valid = F.get(F.sequence(F.lit(0), F.lit(workers - 1)), subscript)
    wrong = F.raise_error(F.lit(f"{column} must be 0 to {workers - 1} in every row: route first"))
    return F.coalesce(valid, wrong.cast("int"))


def split_column(worker: Column, keys: Sequence[Column], workers: int) -> Column:
    """Compute the int ``split`` that makes ``groupBy(keys..., split)`` use partition `worker`.

    Spark sends a row to partition ``pmod(murmur3(split, seed = hash(keys...)), W)``, where W is the
    number of workers. This function looks for a ``split`` whose hash is equal to `worker`. Every
    step of Murmur3 on an int can be inverted, so ``split`` is computed backwards from this hash.
    The inverse steps up to the xor with the seed depend only on the worker, so their results are W
    constants. The other inverse steps are two multiplications and a rotation. They use signed
    numbers whose products fit into 64 bits, because ANSI mode raises an error on overflow.

    Examples
    --------
    >>> seed = 12345
    >>> [_murmur3(_split(worker, seed), seed) % 4 for worker in range(4)]
    [0, 1, 2, 3]
    """
    constants = F.array(*(F.lit(_signed(_before_seed(w))) for w in range(workers)))
    mixed = F.element_at(constants, worker + 1).bitwiseXOR(F.hash(*keys)).cast("long")
    product = _signed_column(mixed * F.lit(_signed(pow(_C2, -1, _WORD))))
    unsigned = product.bitwiseAND(F.lit(_WORD - 1))
    rotated = F.shiftrightunsigned(unsigned, 15).bitwiseOR(F.shiftleft(unsigned, 17))
    return _signed_column(_signed_column(rotated) * F.lit(_signed(pow(_C1, -1, _WORD)))).cast("int")


def _signed_column(value: Column) -> Column:
    """Return the lower 32 bits of a bigint as a signed number."""
    sign = F.lit(1 << 31)
    return value.bitwiseAND(F.lit(_WORD - 1)).bitwiseXOR(sign) - sign


def _signed(word: int) -> int:
    return (word ^ (1 << 31)) - (1 << 31)


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) % _WORD


def _before_seed(hashed: int) -> int:
    """Invert the last steps of Murmur3: return what seed xor mixed input must be for a hash."""
    word = hashed ^ (hashed >> 16)
    word = word * pow(_FMIX_2, -1, _WORD) % _WORD
    word = word ^ (word >> 13) ^ (word >> 26)
    word = word * pow(_FMIX_1, -1, _WORD) % _WORD
    word = word ^ (word >> 16) ^ 4
    return _rotate((word - 0xE6546B64) * pow(5, -1, _WORD) % _WORD, 32 - 13)


def _split(worker: int, seed: int) -> int:
    """Compute in Python what `split_column` computes in Spark."""
    word = (_before_seed(worker) ^ seed) % _WORD
    word = _rotate(word * pow(_C2, -1, _WORD) % _WORD, 32 - 15)
    return _signed(word * pow(_C1, -1, _WORD) % _WORD)


def _murmur3(value: int, seed: int) -> int:
    """Compute Murmur3 of an int as Spark does."""
    word = _rotate(value % _WORD * _C1 % _WORD, 15) * _C2 % _WORD
    word = (_rotate((seed % _WORD) ^ word, 13) * 5 + 0xE6546B64) % _WORD ^ 4
    word = (word ^ (word >> 16)) * _FMIX_1 % _WORD
    word = (word ^ (word >> 13)) * _FMIX_2 % _WORD
    return _signed(word ^ (word >> 16))

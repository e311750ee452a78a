"""Plans parsed from Spark's text equal those read from its events."""

from __future__ import annotations

import pytest

from evenkey.reports.diagnosis.reading.plan_text import read_plan
from evenkey.reports.diagnosis.reading.spark_plans import keyed_reads

ADAPTIVE = """== Physical Plan ==
AdaptiveSparkPlan (21)
+- == Final Plan ==
   ResultQueryStage (14), Statistics(sizeInBytes=8.0 EiB)
   +- * Project (13)
      +- * SortMergeJoin Inner (12)
         :- * Sort (6)
         :  +- AQEShuffleRead (5), coalesced
         :     +- ShuffleQueryStage (4), Statistics(sizeInBytes=781.3 KiB, rowCount=2.00E+4)
         :        +- Exchange (3)
         :           +- * HashAggregate (2)
         :              +- * Range (1)
         +- * Sort (11)
            +- AQEShuffleRead (10), coalesced and skewed
               +- ShuffleQueryStage (9), Statistics(sizeInBytes=1.0 KiB, rowCount=97)
                  +- ReusedExchange (8)
+- == Initial Plan ==
   Project (20)
   +- SortMergeJoin Inner (19)
      :- Sort (16)
      :  +- Exchange (15)
      :     +- Range (1)
      +- Sort (18)
         +- Exchange (17)
            +- Range (7)


(1) Range [codegen id : 1]
Output [1]: [id#0L]
Arguments: Range (0, 20000, step=1, splits=Some(4))

(2) HashAggregate [codegen id : 1]
Input [1]: [id#0L]
Keys [1]: [id#0L]
Functions [1]: [partial_count(1)]
Aggregate Attributes [1]: [count#9L]
Results [2]: [id#0L, count#10L]

(3) Exchange
Input [1]: [id#0L]
Arguments: hashpartitioning(customer#1L, shop name#2, 8), ENSURE_REQUIREMENTS, [plan_id=27]

(5) AQEShuffleRead
Input [1]: [id#0L]
Arguments: coalesced

(8) ReusedExchange [Reuses operator id: 3]
Output [1]: [customer#5L]

(10) AQEShuffleRead
Input [1]: [customer#5L]
Arguments: coalesced and skewed

(12) SortMergeJoin [codegen id : 3]
Left keys [1]: [customer#1L]
Right keys [1]: [customer#5L]
Join type: LeftOuter
Join condition: None

===== Subqueries =====

Subquery:1 Hosting operator id = 1 Hosting Expression = x
Exchange (3)
"""


def test_the_final_plan_is_read():
    plan = read_plan(ADAPTIVE)
    assert plan is not None
    (read,) = keyed_reads(plan)
    left, right = read.exchanges
    assert (read.operator, read.join_type) == ("SortMergeJoin Inner", "LeftOuter")
    assert left.keys == right.keys == ("customer", "shop name")
    assert (left.partitions, left.origin) == (8, "ENSURE_REQUIREMENTS")
    assert (left.combined, right.combined) == (True, True)
    assert (left.adaptive, right.adaptive) == (("coalesced",), ("coalesced", "skewed"))


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("concat(shop name#2, -)#3, customer#1L", ("concat(shop name, -)", "customer")),
        ("upper(trim(a#1, b#2))#4, c#3[0], [d#5, e#6]", ("upper(trim(a, b))", "c[0]", "[d, e]")),
    ],
)
def test_keys_may_be_expressions(written, keys):
    plan = read_plan(ADAPTIVE.replace("customer#1L, shop name#2, 8", f"{written}, 8"))
    assert plan is not None
    (read,) = keyed_reads(plan)
    assert read.exchanges[0].keys == keys


def test_no_plan_is_none():
    assert read_plan("") is None
    assert read_plan("== Physical Plan ==\n\n") is None

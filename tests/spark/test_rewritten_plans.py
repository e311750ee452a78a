"""Plans of rerouted calls are read as Spark's own, wherever they are in a plan."""

from __future__ import annotations

import pytest

from evenkey.spark.intercepted import rewritten_plans
from evenkey.spark.intercepted.plan_lines import lines_of
from evenkey.spark.intercepted.rewritten_plans import original_lines, remember_original

MADE = """FlatMapGroupsInPandas [user#1, __evenkey_split#2], f(user#1, n#3L)#4, [user#5]
+- RepartitionByExpression [user#1, __evenkey_split#2], 8
   +- Project [user#1, scalar-subquery#7 [] AS __evenkey_split#2]
      :  +- LocalRelation [words#6]
      +- LogicalRDD [user#1, n#3L]"""
PLAIN = """FlatMapGroupsInPandas [user#11], f(user#11, n#13L)#14, [user#15]
+- Project [user#11, user#11, n#13L]
   +- LogicalRDD [user#11, n#13L]"""


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(rewritten_plans, "_originals", type(rewritten_plans._originals)())


def other_ids(plan):
    return plan.replace("#", "#9")


def below(operator, plan):
    first, *others = plan.splitlines()
    return "\n".join([operator, f"+- {first}", *(f"   {each}" for each in others)])


def read(plan):
    return original_lines(lines_of(plan))


def test_a_plan_is_read_as_the_original():
    assert read(MADE) == lines_of(MADE)
    remember_original(lines_of(MADE), lines_of(PLAIN))
    assert read(MADE) == lines_of(PLAIN)
    assert read(PLAIN) == lines_of(PLAIN)


def test_a_plan_in_another_one_is_read_as_the_original():
    remember_original(lines_of(MADE), lines_of(PLAIN))
    made = below("Filter (n#3 > 4)", below("Project [user#5]", other_ids(MADE)))
    assert read(made) == lines_of(below("Filter (n#3 > 4)", below("Project [user#5]", PLAIN)))
    sides = f"Join Inner\n:- {MADE.splitlines()[0]}\n"
    sides += "\n".join(f":  {each}" for each in MADE.splitlines()[1:])
    both = read(f"{sides}\n+- Range (0, 9, step=1)")
    assert [each.text for each in both] == [
        "Join Inner",
        *(each.text for each in lines_of(PLAIN)),
        "Range (0, 9, step=1)",
    ]


def test_a_similar_plan_is_not_another_one():
    remember_original(lines_of(MADE), lines_of(PLAIN))
    for other in (MADE.replace("n#3L", "m#3L"), MADE.replace(", 8", ", 12"), f"{MADE}\n"[:-20]):
        assert read(other) == lines_of(other)


def test_an_original_may_contain_a_rerouted_call():
    remember_original(lines_of(MADE), lines_of(PLAIN))
    second = below("Own [user#5]", MADE)
    remember_original(lines_of(second), lines_of(below("Theirs [user#5]", MADE)))
    assert read(below("Sort [user#5]", second)) == lines_of(
        below("Sort [user#5]", below("Theirs [user#5]", PLAIN))
    )


def test_the_oldest_plans_are_forgotten(monkeypatch):
    monkeypatch.setattr(rewritten_plans, "_MOST", 2)
    for name in ("One", "Two", "One", "Three"):
        remember_original(lines_of(f"Own{name} [n#1]"), lines_of(f"{name} [n#1]"))
    texts = [read(f"Own{name} [n#5]")[0].text for name in ("One", "Two", "Three")]
    assert texts == ["One [n#1]", "OwnTwo [n#5]", "Three [n#1]"]

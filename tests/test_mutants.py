"""The sampler of mutants: what it changes, what it leaves alone, and how tests are chosen."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tools.mutants.justified import FILE, justified
from tools.mutants.mutations import mutants
from tools.mutants.results import table
from tools.mutants.subpackages import TOP, draw, fast_tests, nearest_tests, sample, subpackages
from tools.mutants.trial import Copy, Fate

ROOT = Path(__file__).parents[1]
EVERY = subpackages(ROOT)


def changed(source):
    """Return the whole source of every mutant, in a uniform layout."""
    found: dict[str, list[str]] = {}
    for each in mutants("one.py", source.encode()):
        text = ast.unparse(ast.parse(each.apply(source.encode())))
        found.setdefault(each.kind, []).append(text.splitlines()[-1].strip())
    return found


@pytest.mark.parametrize(
    ("line", "kind", "after"),
    [
        ("x = a < b <= c", "comparison", ["x = a <= b <= c", "x = a < b < c"]),
        ("x = a == b", "comparison", ["x = a != b"]),
        ("x = a + b // c", "arithmetic", ["x = a - b // c", "x = a + b / c"]),
        ("x = a[1:]", "constant", ["x = a[2:]"]),
        ("x = f(True)", "constant", ["x = f(False)"]),
        ("x = a and b or c", "and or", ["x = (a and b) and c", "x = (a or b) or c"]),
        ("x = not (a or b) and c", "not dropped", ["x = (a or b) and c"]),
        ("return a", "return none", ["return None"]),
        ("a.b = c", "statement deleted", ["pass"]),
        ("a[b] += c", "statement deleted", ["pass"]),
        ("f(a)", "statement deleted", ["pass"]),
        ("x = b if a else c", "condition negated", ["x = b if not a else c"]),
    ],
)
def test_what_is_changed(line, kind, after):
    assert sorted(changed(f"def f():\n    {line}\n")[kind]) == sorted(after)


def test_a_condition_is_negated():
    (mutant,) = mutants("one.py", b"if a.b:\n    x = y\n")
    assert mutant.apply(b"if a.b:\n    x = y\n") == b"if (not (a.b)):\n    x = y\n"


@pytest.mark.parametrize(
    "source",
    [
        '"""1 + 1"""\n',
        "def f(a: g[1] = b) -> h[2]:\n    '''3'''\n",
        "__all__ = ['a' + 'b']\n",
        "if TYPE_CHECKING:\n    x = 1\n",
        "def f():\n    message = f'{a + 1}' + b\n    raise C(message, 1)\n",
        "_log.info('a', 1)\nwarnings.warn('a', stacklevel=2)\n",
        "@g(1)\nclass A:\n    x: int\n",
        "def f():\n    return None\n",
        "X: TypeAlias = g[1]\n",
    ],
)
def test_what_says_nothing_of_the_program_is_spared(source):
    assert mutants("one.py", source.encode()) == []


def test_places_are_right_after_characters_of_several_bytes():
    source = "def f():\n    x = 'äöü', a < b\n".encode()
    (mutant,) = mutants("one.py", source)
    assert mutant.apply(source).decode() == "def f():\n    x = 'äöü', (a <= b)\n"


@pytest.mark.soak
def test_mutants_of_the_package_are_python():
    for subpackage in EVERY.values():
        drawn = sample(ROOT, subpackage, 7)
        assert len({each.name for each in drawn}) == len(drawn)
        # The modules beside subpackages only re-export names, and profiles are few functions.
        small = {TOP, "core.profiles", "papers", "pipeline", "reports"}
        assert len(drawn) > 50 or subpackage.name in small
        for each in drawn[:20]:
            before = (ROOT / each.path).read_bytes()
            assert ast.dump(ast.parse(each.apply(before))) != ast.dump(ast.parse(before))


def test_a_seed_draws_alike_and_another_one_does_not():
    first, again, other = (sample(ROOT, EVERY["core.metrics"], seed) for seed in (7, 7, 8))
    assert first == again != other
    assert {*first} == {*other}


def test_every_folder_and_the_modules_beside_them_are_subpackages():
    folders = {each.parent.name for each in (ROOT / "src/evenkey").glob("*/__init__.py")}
    assert {name.partition(".")[0] for name in EVERY} == folders | {TOP}
    sources = [file for each in EVERY.values() for file in each.sources(ROOT)]
    assert sorted(sources) == sorted((ROOT / "src/evenkey").rglob("*.py"))
    spark = {"spark", "joins", "kafka", "pipeline.runs", "pipeline.aggregate", "applications"}
    assert spark < {name for name, each in EVERY.items() if each.on_spark}
    assert not EVERY["core.sketches"].on_spark
    assert EVERY["joins"].first


def test_the_next_mutant_stands_in_for_one_that_is_justified():
    every = sample(ROOT, EVERY["core.metrics"], 7)
    assert draw(ROOT, EVERY["core.metrics"], 7, 5) == every[:5]
    drawn = draw(ROOT, EVERY["core.metrics"], 7, 5, {every[1].change})
    assert every[1] not in drawn
    assert len(drawn) == 5
    assert drawn[:2] == [every[0], every[2]]


def test_fast_tests_are_those_of_the_subpackage_and_those_that_name_the_module_elsewhere():
    path = "src/evenkey/groupings/planned/router.py"
    named, others = fast_tests(ROOT, EVERY["groupings"], path)
    assert named[0] == "tests/groupings/planned/test_router.py"
    own = {each.relative_to(ROOT).as_posix() for each in EVERY["groupings"].tests(ROOT)}
    assert own <= {*named, *others}
    named, _ = fast_tests(ROOT, EVERY["spark"], "src/evenkey/spark/routing/for_files.py")
    assert (
        "tests/compare/test_compare.py" not in named
    )  # it names a different function with the same name
    assert any(not each.startswith("tests/spark/") for each in named)
    # A subpackage without its own tests uses those of subpackages that import it.
    _, others = fast_tests(ROOT, EVERY["pipeline.options"], "src/evenkey/pipeline/options/base.py")
    assert any(each.startswith("tests/cli/") for each in others)


def test_tests_that_name_a_module_come_first():
    named, others = nearest_tests(
        ROOT, EVERY["groupings"], "src/evenkey/groupings/planned/router.py"
    )
    assert named[0] == "tests/groupings/planned/test_router.py"
    every = [*(ROOT / "tests" / "groupings").rglob("test_*.py")]
    assert len({*named, *others}) == len(named) + len(others) == len(every)
    # No test names kernels, so all tests of the subpackage are equally near.
    assert nearest_tests(ROOT, EVERY["simulation"], "src/evenkey/simulation/_kernels.py")[1] == []


@pytest.mark.slow(2)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_and_surviving_mutants_are_distinguished(tmp_path):
    """The repository has one module, whose test detects one of two changes."""
    root, place = tmp_path / "repository", tmp_path / "place"
    for folder in (place, root / "src/evenkey/core/metrics", root / "tests/metrics"):
        folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['src']\n")
    (root / "src/evenkey/__init__.py").touch()
    module, path = b"def least(a):\n    return a < 3\n", "src/evenkey/core/metrics/one.py"
    (root / path).write_bytes(module)
    test = "from evenkey.core.metrics.one import least\n\n\ndef test_it():\n    assert least(2)\n"
    (root / "tests/metrics/test_one.py").write_text(test)
    copy, fates = Copy(root, place), {}
    for mutant in mutants(path, module)[:2]:
        fate = copy.try_one(mutant, EVERY["core.metrics"])
        fates[mutant.after] = (fate.fate, fate.by)
    assert fates == {
        "return None": ("killed", "tests/metrics/test_one.py::test_it"),
        "(a <= 3)": ("survived", ""),
    }
    assert (copy.root / path).read_bytes() == module


@pytest.mark.soak(8)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_fast_tier_kills_alone_and_not_by_a_test_that_fails_anyway(tmp_path):
    root, place = tmp_path / "repository", tmp_path / "place"
    for folder in (place, root / "src/evenkey/core/metrics", root / "tests/metrics"):
        folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\npythonpath = ['src']\nmarkers = ['slow', 'soak', 'benchmark']\n"
    )
    (root / "src/evenkey/__init__.py").touch()
    module, path = b"def least(a):\n    return a < 3\n", "src/evenkey/core/metrics/one.py"
    (root / path).write_bytes(module)
    (root / "tests/metrics/test_one.py").write_text(
        "import pytest\nfrom evenkey.core.metrics.one import least\n\n\n"
        "def test_broken():\n    assert least(5)\n\n\n"
        "def test_fast():\n    assert least(2)\n\n\n"
        "@pytest.mark.slow\ndef test_slow():\n    assert not least(3)\n"
    )
    copy, fates = Copy(root, place), {}
    for mutant in mutants(path, module)[:2]:
        fate = copy.try_fast(mutant, EVERY["core.metrics"])
        fates[mutant.after] = (fate.fate, fate.by)
    assert fates == {
        "return None": ("killed", "tests/metrics/test_one.py::test_fast"),
        "(a <= 3)": ("survived", ""),
    }
    assert copy.broken == {"tests/metrics/test_one.py::test_broken"}


@pytest.mark.parametrize(
    ("by", "control", "counts"),
    [
        ("tests/test_a.py::test_it", Fate("survived"), True),
        ("exit code 4", Fate("survived"), True),
        ("SIGSEGV", Fate("killed", "tests/test_a.py::test_it"), False),
        ("tests/test_a.py", Fate("killed", "tests/test_a.py::test_it"), False),
    ],
)
def test_whatever_kills_a_mutant_is_tried_without_it(tmp_path, monkeypatch, by, control, counts):
    (tmp_path / "one").mkdir()
    copy, tried = Copy(tmp_path / "one", tmp_path), []

    def run(tests, **options):
        tried.append((tests, options["on_spark"]))
        return control

    monkeypatch.setattr(copy, "_run", run)
    tests = ["tests/test_a.py", "tests/test_b.py"]
    assert copy._passes_unchanged(Fate("killed", by, on_spark=True), tests) == counts
    assert tried == [([by] if "::" in by else tests, True)]
    assert copy.broken == (set() if counts else {"tests/test_a.py::test_it"})
    if counts:  # what passed once is not run again
        assert copy._passes_unchanged(Fate("killed", by, on_spark=True), tests)
        assert len(tried) == 1


def test_a_run_that_ends_the_same_without_a_mutant_stops_the_program(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    copy = Copy(tmp_path / "one", tmp_path)
    (tmp_path / "output.txt").write_text("no such option")
    monkeypatch.setattr(copy, "_run", lambda *_, **__: Fate("killed", "exit code 4"))
    with pytest.raises(RuntimeError, match="exit code 4 without a mutant:\nno such option"):
        copy._passes_unchanged(Fate("killed", "exit code 4"), ["tests/test_a.py"])


@pytest.mark.parametrize(
    ("killed", "survived", "enough"),
    [(5, 0, True), (4, 1, True), (3, 2, False), (3, 1, False), (3, 0, True), (0, 1, False)],
)
def test_four_fifths_must_die_also_of_fewer_than_five(killed, survived, enough):
    fates = Counter({"killed": killed, "survived": survived})
    (line,), found = table({"small": fates}, fast=True)
    assert found == enough
    assert line.split()[:4] == ["small", str(killed), "of", str(killed + survived)]
    assert line.endswith("too few") == (not enough)


def test_a_subpackage_without_mutants_is_reported():
    assert table({"core": Counter()}, fast=True) == (["core          no mutants"], True)


def test_what_is_justified_is_a_mutant_and_has_a_reason():
    assert justified(ROOT)
    text = FILE.read_text("utf-8")
    with pytest.raises(ValueError, match="needs a reason"):
        justified(ROOT, text.replace("why = ", "because = "))
    with pytest.raises(ValueError, match="to be a mutant of its file"):
        justified(ROOT, text.replace(".py", ".txt"))

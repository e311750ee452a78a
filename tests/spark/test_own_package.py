"""evenkey travels to executors: what is sent, and which evenkey a worker imports."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkFiles, cloudpickle

import evenkey
from evenkey.core.checking import shown
from evenkey.spark.sessions import open_task as opening
from evenkey.spark.sessions import own_package as owning
from evenkey.spark.sessions import worker_python as workers
from tests.executor_environment import make_environment

ROOT = Path(__file__).parents[2]
SOURCES = Path(evenkey.__file__).parents[1]

# The first steps of a worker: Spark has fetched the files of the session, and unpickles a task.
WORKER = """
import sys
from pyspark import SparkFiles, cloudpickle
SparkFiles._root_directory, SparkFiles._is_running_on_worker = sys.argv[1], True
exec(sys.argv[3])
with open(sys.argv[2], "rb") as file:
    task = cloudpickle.loads(file.read())
import evenkey
print(evenkey.__path__[0])
print(task.__module__, [path for path in sys.path if "evenkey-" in path])
"""
OLDER = '__version__ = "0.0.9"\n'


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Make an environment without evenkey."""
    return make_environment(tmp_path_factory.mktemp("executor") / "environment")


@pytest.fixture
def files(tmp_path):
    """Make the directory where Spark keeps the files of a session; it has the archive."""
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / owning.own_package()["archive"]).write_bytes(owning._archive())
    return directory


@pytest.fixture
def older(tmp_path):
    """Make another version of evenkey."""
    package = tmp_path / "older" / "evenkey"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(OLDER)
    return package.parent


def work(python, files, installed=None, before="", folder="", *, carrying=False):
    """Unpickle a task of evenkey in a new worker process."""
    task = files.parent / "task"
    task.write_bytes(cloudpickle.dumps(workers._Task(shown, folder, carrying=carrying)))
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    kept = {name: each for name, each in os.environ.items() if name not in left_out}
    if installed is not None:
        kept["PYTHONPATH"] = str(installed)
    return subprocess.run(
        [python, "-c", WORKER, files, task, before],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )


def error_of(done):
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_the_archive_has_what_tasks_import_and_always_the_same_bytes():
    content = owning._archive()
    assert content == owning._archive()
    assert len(content) < 1_500_000
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = set(archive.namelist())
        root = zipfile.Path(archive, "evenkey/")
        assert opening.digest(root) == owning.own_package()["identity"]
    assert {"evenkey/__init__.py", "evenkey/spark/routing/tasks.py"} <= names
    assert "evenkey/core/streams/countries.txt" in names
    assert not [name for name in names if re.search(r"/(cli|reports|templates)/|pyc", name)]


@pytest.mark.slow(2)
def test_a_program_that_imports_evenkey_from_a_zip_sends_the_same_files(tmp_path):
    wheel = tmp_path / "evenkey.zip"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in (SOURCES / "evenkey").rglob("*"):
            if "__pycache__" not in file.parts and file.is_file():
                archive.write(file, file.relative_to(SOURCES))
    program = (
        f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
        "from evenkey.spark.sessions import own_package as owning\n"
        "assert owning.__file__.startswith(sys.path[0])\n"
        "sys.stdout.buffer.write(owning.own_package()['identity'].encode() + owning._archive())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.stdout == owning.own_package()["identity"].encode() + owning._archive(), done.stderr


def test_a_digest_follows_names_and_content(tmp_path):
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "__pycache__").mkdir()
    first = opening.digest(tmp_path)
    (tmp_path / "__pycache__" / "b.py").write_text("compiled")
    (tmp_path / "notes.md").write_text("not code")
    assert opening.digest(tmp_path) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    second = opening.digest(tmp_path)
    (tmp_path / "b.py").write_text("two")
    assert len({first, second, opening.digest(tmp_path)}) == 3


@pytest.mark.slow(4)
def test_workers_without_evenkey_import_the_one_that_was_sent(python, files):
    folder = files / owning.own_package()["archive"].removesuffix(".zip")
    for _ in range(2):
        done = work(python, files)
        assert done.stderr == ""
        assert done.stdout.splitlines() == [str(folder / "evenkey"), "evenkey.core.checking []"]
    # The second worker imports what the first one unpacked and compiled.
    assert list(folder.rglob("__init__.*.pyc"))
    assert {path.name for path in files.iterdir()} == {folder.name, f"{folder.name}.zip"}


@pytest.mark.slow(2)
def test_workers_that_cannot_write_there_import_from_the_archive(python, files):
    refuse = "import tempfile; tempfile.TemporaryDirectory = lambda **_: open('/no/such/file')"
    done = work(python, files, before=refuse)
    archive = files / owning.own_package()["archive"]
    assert done.stdout.splitlines()[:1] == [str(archive / "evenkey")], done.stderr
    assert list(files.iterdir()) == [archive]


@pytest.mark.slow(2)
def test_a_process_without_files_of_the_session_imports_what_the_function_carries(python, files):
    beside = "del SparkFiles._root_directory; import tempfile; tempfile.tempdir = sys.argv[1]"
    before = sorted(files.iterdir())
    done = work(python, files, before=beside, carrying=True)
    assert re.fullmatch(r"/dev/fd/\d+/evenkey", done.stdout.splitlines()[0]), done.stderr
    assert sorted(files.iterdir()) == before
    assert "has no module 'evenkey'" in error_of(work(python, files, before=beside))


@pytest.mark.slow(2)
def test_such_a_process_on_the_drivers_host_imports_from_the_folder_there(python, files):
    done = work(python, files, before="del SparkFiles._root_directory", folder=str(files))
    folder = files / owning.own_package()["archive"].removesuffix(".zip")
    assert done.stdout.splitlines() == [str(folder / "evenkey"), "evenkey.core.checking []"]


@pytest.mark.slow(2)
def test_a_folder_that_has_the_name_by_chance_is_passed_by(python, files, tmp_path):
    (tmp_path / "work" / "evenkey" / "bin").mkdir(parents=True)
    done = work(python, files, tmp_path / "work")
    assert done.stdout.startswith(str(files)), done.stderr


@pytest.mark.slow(2)
def test_a_worker_with_the_same_evenkey_imports_its_own(python, files):
    done = work(python, files, SOURCES)
    assert done.stdout.splitlines()[:1] == [str(SOURCES / "evenkey")], done.stderr
    assert len(list(files.iterdir())) == 1


def test_a_worker_reads_the_files_of_its_own_evenkey_once(python, files):
    counted = (
        "import atexit, hashlib; digests, sha256 = [], hashlib.sha256\n"
        "hashlib.sha256 = lambda *given: digests.append(1) or sha256(*given)\n"
        "atexit.register(lambda: print(len(digests), 'digest'))"
    )
    done = work(python, files, SOURCES, before=counted)
    assert done.stdout.splitlines()[-1] == "1 digest", done.stderr


@pytest.mark.slow(2)
def test_a_worker_with_another_evenkey_imports_the_one_that_was_sent(python, files, older):
    done = work(python, files, older)
    assert done.stdout.startswith(str(files)), done.stderr


@pytest.mark.parametrize(("before", "sent"), [("import evenkey", True), ("", False)])
def test_another_evenkey_is_never_used(python, files, older, before, sent):
    if not sent:
        next(files.iterdir()).unlink()
    line = error_of(work(python, files, older, before))
    assert line.startswith(f"ImportError: the workers' Python ({python} on ")
    assert f"has imported evenkey 0.0.9 from {older / 'evenkey'}, which is not" in line
    assert f"the evenkey {evenkey.__version__} of the program: uninstall evenkey or install" in line


def test_a_worker_without_any_evenkey_names_itself_and_the_fix(python, files):
    next(files.iterdir()).unlink()
    line = error_of(work(python, files))
    assert line.startswith(f"ImportError: the workers' Python ({python} on ")
    assert "has no module 'evenkey': install it there, or name another interpreter" in line


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "has no package pandas: install pandas>=2.2 there"),
        ("1.5.3", "has pandas 1.5.3: install pandas>=2.2 there"),
        ("2.1.4", "has pandas 2.1.4: install pandas>=2.2 there"),
    ],
)
def test_a_worker_with_unfit_packages_names_them(monkeypatch, found, says):
    versions = {"numpy": "2.0.0", "pandas": found, "pyarrow": "17.0.0"}
    monkeypatch.setattr(opening, "_version", versions.get)
    with pytest.raises(ImportError, match=re.escape(says)):
        opening.open_task(b"", owning.own_package())


def test_versions_are_compared_as_numbers(monkeypatch):
    versions = {"numpy": "10.0rc1", "pandas": "2.2", "pyarrow": "100.0"}
    monkeypatch.setattr(opening, "_version", versions.get)
    opening.check_packages(owning.NEEDS)


def test_versions_are_found_without_an_import(monkeypatch):
    assert opening._version("pyarrow") == pa.__version__
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert opening._version("pandas") == metadata.version("pandas")
    assert "pandas" not in sys.modules
    assert opening._version("no_such_package") is None


def test_workers_need_the_versions_that_evenkey_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = (each.partition(",")[0].partition(">=") for each in project["dependencies"])
    declared = {name: oldest for name, _, oldest in bounds}
    assert {name: declared[name] for name in owning.NEEDS} == owning.NEEDS


class Context:
    """What `send` uses of a Spark context."""

    master, pythonExec = "spark://host:7077", "python3"  # noqa: N815 - Spark's name

    def __init__(self, *, refuses=False):
        self.refuses = refuses
        self.added = []

    def addFile(self, path):  # noqa: N802 - Spark's name
        if self.refuses:
            message = "not allowed\nat java"
            raise ValueError(message)
        self.added.append(Path(path))


def session_of(context) -> Any:
    return SimpleNamespace(_sc=context)


class Remote:
    """A session over Connect."""

    def __init__(self):
        self.added = {}

    def addArtifacts(self, path, *, file):  # noqa: N802 - Spark's name
        assert file
        self.added[Path(path).name] = Path(path).read_bytes()


def test_all_sessions_of_a_context_send_evenkey_once(monkeypatch, tmp_path):
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    context = Context()
    for session in (session_of(context), session_of(context)):
        owning.send(session)
    path = tmp_path / owning.own_package()["archive"]
    assert context.added == [path]
    assert path.read_bytes() == owning._archive()
    # Another Python process on the same Java adds the same path.
    another = Context()
    owning.send(session_of(another))
    assert another.added == [path]
    assert list(tmp_path.iterdir()) == [path]


def test_each_session_over_connect_sends_evenkey_once():
    sessions: list[Any] = [Remote(), Remote()]
    for session in (*sessions, *sessions):
        owning.send(session)
    sent = {owning.own_package()["archive"]: owning._archive()}
    assert [session.added for session in sessions] == [sent, sent]


def test_a_processor_is_small_enough_not_to_be_broadcast(monkeypatch, tmp_path):
    """PySpark broadcasts what is larger than 1 MiB, and that process cannot read broadcasts."""
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    classic = workers.in_workers(session_of(Context()), shown, beside_driver=True)
    assert len(cloudpickle.dumps(classic)) < 20_000
    assert str(tmp_path).encode() in cloudpickle.dumps(classic)
    remote: Any = Remote()
    carried = workers.in_workers(remote, shown, beside_driver=True)
    assert owning._archive() in cloudpickle.dumps(carried)


def test_a_session_that_refuses_files_is_used_with_a_warning(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    owning.send(session_of(Context(refuses=True)))
    (record,) = caplog.records
    version = evenkey.__version__
    assert record.getMessage() == (
        f"evenkey {version} was not sent to the executors, which must have it installed: "
        "not allowed"
    )


@pytest.mark.classic("over Connect it is always sent")
def test_nothing_is_sent_where_workers_have_the_programs_python(spark, monkeypatch):
    monkeypatch.setattr(workers, "send", pytest.fail)
    workers.in_workers(spark, str.upper)


@pytest.mark.parametrize(
    ("master", "command"), [("yarn", sys.executable), ("local[2]", "/other/python")]
)
def test_it_is_sent_where_workers_may_have_another_python(monkeypatch, master, command):
    context: Any = Context()
    context.master, context.pythonExec = master, command
    workers._seen.add(context)
    sent: list[Any] = []
    monkeypatch.setattr(workers, "send", sent.append)
    session = session_of(context)
    workers.in_workers(session, str.upper)
    assert sent == [session]


COLLECTED = """
import gc, sys
from pyspark import SparkFiles, cloudpickle
SparkFiles._root_directory, SparkFiles._is_running_on_worker = sys.argv[1], True
with open(sys.argv[2], "rb") as file:
    pickled = file.read()
for _ in range(9):  # more than 8 and fewer than 16
    cloudpickle.loads(pickled)
    print(gc.get_freeze_count() > 0, end=" ")
gc.collect()
before = gc.get_freeze_count()
cloudpickle.loads(pickled)
print(gc.get_freeze_count() == before)
"""


def test_a_worker_collects_no_garbage_among_what_earlier_tasks_imported(files):
    task = files.parent / "task"
    task.write_bytes(cloudpickle.dumps(workers._Task(shown)))
    run = subprocess.run(
        [sys.executable, "-c", COLLECTED, files, task], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False", *(["True"] * 9)]

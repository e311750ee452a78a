"""Runs of files in a bad environment: full disks, odd names, temporary files, clocks."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.components import skip_without
from tests.faults.outside import (
    EVENKEY,
    SMALL,
    assert_exact,
    assert_refused,
    begin,
    command,
    counted,
    environment,
    results,
    run,
    written,
)
from tests.processes import end_session, freeze, thaw
from tests.runs.killing import in_the_middle_of_an_epoch

pytestmark = [pytest.mark.soak, pytest.mark.faults, pytest.mark.timeout(900)]


@pytest.fixture
def clicks(tmp_path):
    return written(tmp_path / "clicks.csv")


def slowly(file, output, *more, **how):
    """Start a run whose epochs last some seconds."""
    words = [str(EVENKEY), "run", *SMALL, "--cost-ms", "0.5", "--input", str(file)]
    return begin([*words, "--output", str(output), *more], **how)


def reach_the_middle(process, output):
    while not in_the_middle_of_an_epoch(output):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def kill_in_the_middle(file, output):
    process = slowly(file, output)
    reach_the_middle(process, output)
    end_session(process.pid)
    process.communicate()
    assert in_the_middle_of_an_epoch(output)


def test_no_inodes(clicks, disk):
    place = disk("size=50m", "nr_inodes=60")
    assert_refused(run(clicks, place / "out"), "No space left on device", str(place))
    disk("nr_inodes=100000")
    assert_exact(run(clicks, place / "out"), place / "out", counted(clicks))


def test_a_full_disk(clicks, disk):
    place = disk("size=250k")
    assert_refused(run(clicks, place / "out"), "No space left on device", str(place))
    disk("size=100m")
    assert_exact(run(clicks, place / "out"), place / "out", counted(clicks))


def test_an_output_that_cannot_be_written(clicks, disk):
    place = disk("size=10m", "ro")
    assert_refused(run(clicks, place / "out"), "Read-only file system", str(place))


def test_a_full_disk_of_temporary_files(clicks, disk, tmp_path):
    """Spark's own files go there, too."""
    place = disk("size=100k")
    around = environment(TMPDIR=str(place))
    ended = run(clicks, tmp_path / "out", environment=around)
    if ended.code:
        assert_refused(ended)
    ended = run(clicks, tmp_path / "out")
    assert_exact(ended, tmp_path / "out", counted(clicks))


@pytest.mark.parametrize(
    "name",
    ["a b", "100% é", "d %20 é#?*[x]", "in{a,b}", "a&b=c;d", "-dash", 'it\'s "so"', "naïve\u2028x"],
)
def test_odd_names(tmp_path, name):
    directory = tmp_path / name
    directory.mkdir()
    file = written(directory / f"{name}.csv")
    assert_exact(run(file, directory / f"o{name}"), directory / f"o{name}", counted(file))


def test_a_relative_path(tmp_path):
    file = written(tmp_path / "clicks.csv")
    ended = run("./clicks.csv", "../out", directory=tmp_path)
    assert_exact(ended, tmp_path.parent / "out", counted(file))
    shutil.rmtree(tmp_path.parent / "out")


def test_20_000_tiny_files(tmp_path):
    directory = tmp_path / "tiny"
    directory.mkdir()
    for number in range(20_000):
        user = "hot" if number % 10 < 6 else f"u{number % 50}"
        (directory / f"f{number:05}.csv").write_text(f"user,amount\n{user},1\n")
    ended = run(directory, tmp_path / "out", seconds=800)
    assert_exact(ended, tmp_path / "out", counted(*directory.iterdir()))


def test_a_line_of_300_megabytes(tmp_path):
    file = tmp_path / "long.csv"
    with file.open("w") as lines:
        lines.write("user,amount\nhot,1\n")
        lines.write("x" * (300 << 20) + ",1\n")
        lines.write("hot,1\n" * 1000)
    expected = counted(file)
    assert_refused(
        run(file, tmp_path / "out", seconds=800), "out of memory", "SPARK_DRIVER_MEMORY="
    )
    around = environment(SPARK_DRIVER_MEMORY="6g")
    ended = run(file, tmp_path / "out", environment=around, seconds=800)
    assert_exact(ended, tmp_path / "out", expected)


def test_a_file_that_grows_while_it_is_read(clicks, tmp_path):
    """The run reads the content at its start, or reports that the file has changed."""
    expected = counted(clicks)
    grown = threading.Event()

    def grow():
        while not grown.wait(0.3):
            with clicks.open("a") as lines:
                lines.write("late,1\n")

    process = slowly(clicks, tmp_path / "out")
    reach_the_middle(process, tmp_path / "out")
    writer = threading.Thread(target=grow)
    writer.start()
    out, err = process.communicate(timeout=400)
    grown.set()
    writer.join()
    end_session(process.pid)
    if process.returncode == 0:
        assert results(tmp_path / "out") == expected
    else:
        errors = [line for line in err.splitlines() if line.startswith("error:")]
        assert len(errors) == 1, (out, err)
        assert "clicks.csv" in errors[0]


@pytest.mark.parametrize("where", ["read", "not read yet"])
def test_a_file_of_the_same_size_and_date_in_its_place(clicks, tmp_path, where):
    """An epoch that read the old content has results; an epoch must not use the new content."""
    expected = counted(clicks)
    kill_in_the_middle(clicks, tmp_path / "out")
    kept, content = clicks.stat(), bytearray(clicks.read_bytes())
    at = content.find(b"hot", 100) if where == "read" else content.rfind(b"hot")
    content[at : at + 3] = b"tho"
    with clicks.open("r+b") as file:
        file.write(content)
    os.utime(clicks, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    ended = run(clicks, tmp_path / "out")
    if where == "read" and ended.code == 0:
        assert results(tmp_path / "out") == expected
    else:
        assert_refused(ended, "clicks.csv")


def test_a_file_that_is_gone_when_the_run_goes_on(clicks, tmp_path):
    expected, content = counted(clicks), clicks.read_bytes()
    kept = clicks.stat()
    kill_in_the_middle(clicks, tmp_path / "out")
    clicks.unlink()
    assert_refused(run(clicks, tmp_path / "out"), "clicks.csv")
    clicks.write_bytes(content)
    os.utime(clicks, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert_exact(run(clicks, tmp_path / "out"), tmp_path / "out", expected)


def test_a_gzip_file_cut_in_the_middle_of_a_member(clicks, tmp_path):
    whole = gzip.compress(clicks.read_bytes())
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    assert_refused(run(cut, tmp_path / "out"), "cut.csv.gz is not a complete gzip file")
    cut.write_bytes(whole)
    assert_exact(run(cut, tmp_path / "out"), tmp_path / "out", counted(clicks))


def test_a_gzip_file_of_several_members(clicks, tmp_path):
    content = clicks.read_bytes()
    middle = content.find(b"\n", len(content) // 2) + 1
    several = tmp_path / "several.csv.gz"
    several.write_bytes(gzip.compress(content[:middle]) + gzip.compress(content[middle:]))
    assert_exact(run(several, tmp_path / "out"), tmp_path / "out", counted(clicks))


def test_a_gzip_file_with_junk_behind_it(clicks, tmp_path):
    junk = tmp_path / "junk.csv.gz"
    junk.write_bytes(gzip.compress(clicks.read_bytes()) + b"\x07junk" * 200)
    assert_refused(run(junk, tmp_path / "out"), "junk.csv.gz")


def test_a_run_that_was_stopped_gives_way_and_publishes_nothing(clicks, tmp_path):
    """Another process takes over 15 s later; the first ends when it is woken."""
    process = slowly(clicks, tmp_path / "out")
    reach_the_middle(process, tmp_path / "out")
    freeze(process.pid)
    time.sleep(17)
    assert_exact(run(clicks, tmp_path / "out"), tmp_path / "out", counted(clicks))
    thaw(process.pid)
    out, err = process.communicate(timeout=300)
    end_session(process.pid)
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    assert process.returncode == 1, (out, err)
    assert len(errors) == 1, err
    assert results(tmp_path / "out") == counted(clicks)


def test_a_run_that_was_stopped_for_a_while_goes_on(clicks, tmp_path):
    process = slowly(clicks, tmp_path / "out")
    reach_the_middle(process, tmp_path / "out")
    freeze(process.pid)
    time.sleep(25)
    thaw(process.pid)
    process.communicate(timeout=300)
    end_session(process.pid)
    assert process.returncode == 0
    assert results(tmp_path / "out") == counted(clicks)


def test_two_runs_on_one_output(clicks, tmp_path):
    """Both start at the same moment: one gets the output, the other is rejected."""
    both = [slowly(clicks, tmp_path / "out") for _ in range(2)]
    ends = [(each.communicate(timeout=400), each.returncode) for each in both]
    for each in both:
        end_session(each.pid)
    assert sorted(code for _, code in ends) == [0, 2], ends
    refused = next(err for (_, err), code in ends if code)
    assert len([line for line in refused.splitlines() if line.startswith("error:")]) == 1, refused
    assert results(tmp_path / "out") == counted(clicks)


@pytest.mark.parametrize("by", ["-1h", "+1h"])
def test_a_clock_that_was_set(clicks, tmp_path, by):
    if shutil.which("faketime") is None:
        skip_without("faketime", "faketime is not installed (apt-get: faketime)")
    kill_in_the_middle(clicks, tmp_path / "out")
    words = [str(EVENKEY), "run", *SMALL, "--input", str(clicks), "--output", str(tmp_path / "out")]
    ended = command(["faketime", "-f", by, *words])
    assert_exact(ended, tmp_path / "out", counted(clicks))


def test_no_place_for_temporary_files(clicks, tmp_path):
    ended = run(clicks, tmp_path / "out", environment=environment(TMPDIR="/nonexistent"))
    assert_exact(ended, tmp_path / "out", counted(clicks))


@pytest.mark.parametrize("path", ["/nonexistent", "", None])
def test_a_path_without_its_usual_entries(clicks, tmp_path, path):
    ended = run(clicks, tmp_path / "out", environment=environment(PATH=path))
    if ended.code:
        assert_refused(ended)
    else:
        assert_exact(ended, tmp_path / "out", counted(clicks))


def test_an_empty_environment(clicks, tmp_path):
    around = {"PATH": os.environ["PATH"], "LANG": "C"}
    ended = run(clicks, tmp_path / "out", environment=around, limits="umask 077")
    assert_exact(ended, tmp_path / "out", counted(clicks))


def test_a_home_that_is_not_there(clicks, tmp_path):
    around = environment(HOME="/nonexistent", XDG_CACHE_HOME=None)
    assert_exact(
        run(clicks, tmp_path / "out", environment=around), tmp_path / "out", counted(clicks)
    )


@pytest.mark.parametrize("handles", [64, 256])
def test_few_file_handles(clicks, tmp_path, handles):
    ended = run(clicks, tmp_path / "out", limits=f"ulimit -n {handles}")
    if ended.code:
        assert_refused(ended, "ulimit -n")
        assert_exact(run(clicks, tmp_path / "out"), tmp_path / "out", counted(clicks))
    else:
        assert_exact(ended, tmp_path / "out", counted(clicks))


@pytest.mark.parametrize("megabytes", [40, 400, 2000])
def test_a_memory_limit_on_python_workers(clicks, tmp_path, megabytes):
    """Spark's own setting: a worker that asks for more gets a MemoryError."""
    settings = tmp_path / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(f"spark.executor.pyspark.memory {megabytes}m\n")
    around = environment(SPARK_CONF_DIR=str(settings))
    ended = run(clicks, tmp_path / "out", environment=around)
    if ended.code:
        assert_refused(ended)
        ended = run(clicks, tmp_path / "out")
    assert_exact(ended, tmp_path / "out", counted(clicks))


@pytest.mark.parametrize("kind", ["fifo", "device", "dangling link", "loop of links", "empty"])
def test_what_is_no_file_of_rows(tmp_path, kind):
    file = tmp_path / "clicks.csv"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file = Path("/dev/zero")
    elif kind == "dangling link":
        file.symlink_to(tmp_path / "nowhere")
    elif kind == "loop of links":
        file.symlink_to(file)
    else:
        file.touch()
    assert_refused(run(file, tmp_path / "out", seconds=120), str(file))


def test_an_output_that_is_a_file(clicks, tmp_path):
    (tmp_path / "out").touch()
    assert_refused(run(clicks, tmp_path / "out"), str(tmp_path / "out"))


def test_an_output_inside_of_the_input(tmp_path):
    """Its own results would become input when the run continues."""
    directory = tmp_path / "clicks"
    directory.mkdir()
    written(directory / "clicks.csv")
    output = directory / "out"
    assert_refused(run(directory, output), f"output {output} is inside the input {directory}")
    assert not output.exists()


def test_an_output_behind_a_link(clicks, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "there")
    assert_exact(run(clicks, tmp_path / "out"), tmp_path / "there", counted(clicks))


def test_a_terminal_that_is_gone(clicks, tmp_path):
    """SIGHUP, as from a closed window: the run ends, and the same command continues it."""
    process = slowly(clicks, tmp_path / "out")
    reach_the_middle(process, tmp_path / "out")
    os.killpg(process.pid, signal.SIGHUP)
    process.communicate(timeout=300)
    end_session(process.pid)
    assert_exact(run(clicks, tmp_path / "out"), tmp_path / "out", counted(clicks))


def test_an_output_nobody_reads(clicks, tmp_path):
    """`evenkey run ... | head -0`: the summary goes nowhere, the results are there."""
    words = [str(EVENKEY), "run", *SMALL, "--input", str(clicks), "--output", str(tmp_path / "out")]
    ended = command(words, limits="exec 1>&- ")
    assert "Traceback" not in ended.err, ended.err
    assert results(tmp_path / "out") == counted(clicks)

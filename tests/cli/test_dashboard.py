"""``evenkey dashboard``: where it listens and what it refuses."""

from __future__ import annotations

import pytest

from evenkey.reports.dashboard import Server


@pytest.fixture
def served(monkeypatch):
    """Addresses of the servers that were told to serve."""
    urls: list[str] = []

    def serve(server):
        urls.append(server.url)
        server._server.server_close()

    monkeypatch.setattr(Server, "serve", serve)
    return urls


def test_it_listens_on_loopback_and_says_where(invoke, served, tmp_path):
    told = invoke("dashboard", "--run", str(tmp_path), "--run", str(tmp_path), "--port", "0")
    assert told.exit_code == 0, told.stderr
    (url,) = served
    assert url.startswith("http://127.0.0.1:")
    assert f"dashboard at {url}" in told.stdout


def test_a_run_that_is_not_there_yet_is_waited_for(invoke, served, tmp_path):
    told = invoke("dashboard", "--run", str(tmp_path / "to-come"), "--port", "0")
    assert told.exit_code == 0, told.stderr
    assert len(served) == 1


def test_a_file_is_no_run(invoke, served, tmp_path):
    (tmp_path / "file").touch()
    told = invoke("dashboard", "--run", str(tmp_path / "file"))
    assert told.exit_code == 2
    assert "it is no directory; name a run's output" in " ".join(told.stderr.split())
    assert served == []

"""``evenkey dashboard``: the address it listens on and the input it rejects."""

from __future__ import annotations

import pytest

from evenkey.reports.dashboard import Server


@pytest.fixture
def served(monkeypatch):
    """Return a list of the servers' addresses, which grows when one is started."""
    urls: list[str] = []

    def serve(server):
        urls.append(server.url)
        server._server.server_close()

    monkeypatch.setattr(Server, "serve", serve)
    return urls


def test_it_listens_on_loopback_and_says_where(invoke, served, tmp_path):
    outcome = invoke("dashboard", "--run", str(tmp_path), "--run", str(tmp_path), "--port", "0")
    assert outcome.exit_code == 0, outcome.stderr
    (url,) = served
    assert url.startswith("http://127.0.0.1:")
    assert f"dashboard at {url}" in outcome.stdout


def test_it_waits_for_a_run_that_does_not_exist_yet(invoke, served, tmp_path):
    outcome = invoke("dashboard", "--run", str(tmp_path / "to-come"), "--port", "0")
    assert outcome.exit_code == 0, outcome.stderr
    assert len(served) == 1


def test_a_file_is_rejected(invoke, served, tmp_path):
    (tmp_path / "file").touch()
    outcome = invoke("dashboard", "--run", str(tmp_path / "file"))
    assert outcome.exit_code == 2
    assert "it is not a directory; pass the output directory" in " ".join(outcome.stderr.split())
    assert served == []

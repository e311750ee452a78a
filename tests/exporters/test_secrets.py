"""Passwords come from the environment or a file."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.secrets import secret

NAME = "EVENKEY_TEST_PASSWORD"


def test_from_the_environment_or_a_file(monkeypatch, tmp_path):
    assert secret(NAME) is None
    monkeypatch.setenv(NAME, "one two ")
    assert secret(NAME) == "one two "
    file = tmp_path / "password"
    file.write_text("three \n")
    monkeypatch.setenv(f"{NAME}_FILE", str(file))
    with pytest.raises(ConfigurationError, match="both set: unset one"):
        secret(NAME)
    monkeypatch.delenv(NAME)
    assert secret(NAME) == "three "


def test_a_file_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "missing"))
    with pytest.raises(ConfigurationError, match=r"missing' cannot be read \(No such file"):
        secret(NAME)
    (tmp_path / "missing").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="it is not text"):
        secret(NAME)

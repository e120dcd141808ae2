"""A project of its own for each test, and the built haltline in HALTLINE_PROGRAM."""

import os
import uuid

import pytest

from haltline import _connection

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")
os.environ.setdefault("OPENAI_API_KEY", "unused")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with its own store; each test starts its own haltline process."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("HALTLINE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HALTLINE_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder)
    yield folder
    _connection._close_all()
    _connection._connections.clear()


@pytest.fixture
def configure(project):
    return (project.parent / "config.toml").write_text


@pytest.fixture
def session(project):
    from haltline import Session

    return Session(f"test-{uuid.uuid4()}")

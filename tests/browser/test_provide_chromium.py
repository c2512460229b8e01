"""Which Chromium the browser tests get, and what the message says on a machine without one."""

from __future__ import annotations

import os

import provide_chromium
import pytest


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with nothing on PATH, no download and no variable set; commands are noted instead of run."""
    commands = []
    monkeypatch.delenv("DRA_LAB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(provide_chromium, "_downloaded", lambda: None)
    monkeypatch.setattr(provide_chromium, "_run", lambda command, environment: commands.append(command) or True)
    return commands


def program(path):
    """Make a file that can be executed."""
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_variable_wins(bare, monkeypatch, tmp_path):
    """DRA_LAB_CHROMIUM is taken before anything on PATH."""
    program(tmp_path / "chromium")
    chosen = program(tmp_path / "mine")
    monkeypatch.setenv("DRA_LAB_CHROMIUM", chosen)
    assert provide_chromium.find() == chosen


def test_a_wrong_variable_is_reported(bare, monkeypatch):
    """A variable that names nothing ends the run instead of falling back to another browser."""
    monkeypatch.setenv("DRA_LAB_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(SystemExit, match="/nowhere/chromium: no such program"):
        provide_chromium.find()


def test_a_browser_on_path_is_found(bare, tmp_path):
    """Chrome under its own name is as good as Chromium."""
    chrome = program(tmp_path / "google-chrome")
    assert provide_chromium.find() == chrome


def test_root_takes_the_systems_packages(bare, monkeypatch, tmp_path):
    """Root asks apt-get, and never sudo."""
    program(tmp_path / "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(provide_chromium, "find", lambda: "/usr/bin/chromium")
    assert provide_chromium.bring() == "/usr/bin/chromium"
    assert [command[:2] for command in bare] == [["apt-get", "update"], ["apt-get", "install"]]


def test_anybody_else_takes_playwrights_download(bare, monkeypatch, tmp_path):
    """Without root the system is left alone."""
    program(tmp_path / "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert provide_chromium.bring() is None
    assert [command[1:] for command in bare] == [["-m", "playwright", "install", "chromium"]]

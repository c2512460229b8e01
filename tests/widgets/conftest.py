"""A session that has answered the example, for the views that show it."""

from __future__ import annotations

import tempfile

import pytest
from ipywidgets import Widget

from dra_lab import Session


@pytest.fixture(autouse=True)
def temporary_files(monkeypatch):
    """A page may reach the folders of these tests, which are not below the current one."""
    monkeypatch.setenv("DRA_LAB_FOLDERS", tempfile.gettempdir())


@pytest.fixture
def session():
    """The shipped example, answered; every widget is closed with it."""
    made = Session()
    made.plan()
    yield made
    made.close()
    Widget.close_all()

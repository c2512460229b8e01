"""A session that has answered the example, for the views that show it."""

from __future__ import annotations

import pytest
from ipywidgets import Widget

from dra_lab import Session


@pytest.fixture
def session():
    """The shipped example, answered; every widget is closed with it."""
    made = Session()
    made.plan()
    yield made
    made.close()
    Widget.close_all()

"""A session that has answered the example, for the views that show it; an IPython, for what it shows of results."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets import Widget

import dra_lab
from dra_lab.session import Session


@pytest.fixture
def session():
    """The shipped example, answered; every widget is closed with it."""
    made = Session()
    made.plan()
    yield made
    made.close()
    Widget.close_all()


@pytest.fixture
def bare_shell():
    """Give an IPython that knows nothing of our results."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(bare_shell):
    """Give an IPython that has been told of our results, as `import dra_lab` does in a notebook."""
    dra_lab._teach_notebook()
    return bare_shell

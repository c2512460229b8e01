"""An IPython, for what it shows of results."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dra_lab.words.shown import teach


@pytest.fixture
def bare_shell():
    """Give an IPython that knows nothing of our results."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(bare_shell):
    """Give an IPython that knows our formatters, as after `import dra_lab` in a notebook."""
    teach(bare_shell)
    return bare_shell

"""An IPython, for what it shows of results."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell():
    """Give the IPython of a notebook."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()

"""A planner for Kubernetes Dynamic Resource Allocation, in Jupyter.

The public API is in `__init__.pyi`. Each name is imported when it is first used.
"""

from __future__ import annotations

import sys

import lazy_loader

from dra_lab.model.printing import print_with
from dra_lab.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _in_words(value: object) -> str:
    from dra_lab.words.shown import in_words

    return in_words(value)


def _teach_notebook() -> None:
    """Register the formatters of our results with a running IPython, once for all that shows results."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None:
        from dra_lab.words.shown import teach

        teach(shell)


print_with(_in_words)
_teach_notebook()

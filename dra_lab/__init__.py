"""A planner for Kubernetes Dynamic Resource Allocation, in Jupyter.

The public API is in `__init__.pyi`. Each name is imported when it is first used.
"""

from __future__ import annotations

import lazy_loader

from dra_lab.printing import show_with
from dra_lab.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _words(value: object, *, html: bool = False) -> str:
    from dra_lab.words.shown import in_html, in_words

    return in_html(value) if html else in_words(value)


show_with(_words)

"""Workarounds for faults of other projects; each names the upstream report and the version at which it is removed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType

MSGSPEC_TYPES = Lock()
"""Held while msgspec works out a type: two threads that do so at once crash the process (msgspec 0.22).

Upstream: https://github.com/msgspec/msgspec/issues has no report of it.
Remove: with the first msgspec that works out a type under a lock of its own.
"""

HIGHS_SCHEDULER = Lock()
"""Held while HiGHS resets its scheduler, which all threads of the process share.

Upstream: https://github.com/ERGO-Code/HiGHS/pull/3141
Remove: with the first HiGHS whose `resetGlobalScheduler` may be called from several threads.
"""

_GRAMMAR = "rfc3987_syntax"
_READER = "jsonschema"


def defer_iri_grammar() -> None:
    """Import jsonschema, which Altair needs, so that the grammar of IRIs is compiled at the first check of an IRI.

    JupyterLab installs `rfc3987_syntax`, and jsonschema imports it if it is installed. That import compiles a grammar
    for 0.8 to 2 s of processor time, for the formats `iri` and `iri-reference`, which no chart has. Code that checks
    these formats gets the same answers as before. Does nothing if either was imported before, or one is missing.

    Upstream: https://github.com/python-jsonschema/jsonschema/issues/1428
    Remove: with the first jsonschema that imports the grammar at the first check.
    """
    if _READER in sys.modules or _GRAMMAR in sys.modules or find_spec(_READER) is None or find_spec(_GRAMMAR) is None:
        return
    replacement = ModuleType(_GRAMMAR)
    replacement.__dict__["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_GRAMMAR] = replacement
    try:
        import_module(_READER)
    finally:
        if sys.modules.get(_GRAMMAR) is replacement:
            del sys.modules[_GRAMMAR]


def _is_valid_syntax(term: str, value: str) -> bool:
    found: bool = import_module(_GRAMMAR).is_valid_syntax(term, value)
    return found

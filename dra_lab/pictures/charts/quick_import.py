"""Altair, imported without what its charts never need: most of the processor time of its import goes there."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_GRAMMAR = "rfc3987_syntax"
_READER = "jsonschema"


def defer_iri_grammar() -> None:
    """Import jsonschema, which Altair needs, so that the grammar of IRIs is compiled at the first check of an IRI.

    JupyterLab installs `rfc3987_syntax`, and jsonschema imports it wherever it is; that import alone compiles a grammar
    for 0.8 to 2 s of processor time, for the formats `iri` and `iri-reference`, which no chart has. Code that checks
    these formats gets the same answers as before. Does nothing where either was imported before, or one is missing.
    """
    if _READER in sys.modules or _GRAMMAR in sys.modules or find_spec(_READER) is None or find_spec(_GRAMMAR) is None:
        return
    stand_in = ModuleType(_GRAMMAR)
    stand_in.__dict__["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_GRAMMAR] = stand_in
    try:
        import_module(_READER)
    finally:
        if sys.modules.get(_GRAMMAR) is stand_in:
            del sys.modules[_GRAMMAR]


def _is_valid_syntax(term: str, value: str) -> bool:
    found: bool = import_module(_GRAMMAR).is_valid_syntax(term, value)
    return found

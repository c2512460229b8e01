"""The Kubernetes CEL function libraries as declarations for the engine."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.functions import addition, addresses, formats, lists, quantities, strings
from dra_lab.cel.functions.declare import Declarations


def declarations(*, typed: bool) -> list[Any]:
    """Return the engine's FunctionDecls of every library that the DRA environment of Kubernetes 1.36 has.

    With `typed` they are for the checker, without for the runner (see `declare`).
    """
    found = Declarations()
    for library in (quantities, strings, lists, addresses, formats, addition):
        library.declare(found)
    if not typed:
        for runners in (lists, addresses, formats):
            runners.declare_for_runner(found)
    return found.engine_declarations(typed=typed)

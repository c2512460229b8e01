"""The Kubernetes CEL function libraries as declarations for the engine."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.functions import addresses, lists, strings
from dra_lab.cel.functions.declare import Declarations


def declarations(*, typed: bool) -> list[Any]:
    """Return the engine's FunctionDecls of every library that the DRA environment of Kubernetes 1.36 has.

    With `typed` they are for the checker, without for the runner (see `declare`).
    """
    found = Declarations()
    addresses.declare_quantities(found)
    for library in (strings, lists, addresses):
        library.declare(found)
    strings.declare_formats(found)
    lists.declare_addition(found)
    if not typed:
        lists.declare_for_runner(found)
        addresses.declare_for_runner(found)
        strings.declare_formats_for_runner(found)
    return found.engine_declarations(typed=typed)

"""PuLP, imported when it is first used: half of all plans need no solver."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dra_lab.errors import SolverError

SOLVERS = ("HiGHS", "CBC")
"""HiGHS is the default, because it reports its bound and can be cancelled. CBC is another engine to compare with."""


def check_solver(name: str) -> None:
    """Raise SolverError for a solver that is not known."""
    if name not in SOLVERS:
        raise SolverError(f"solver {name!r} is not known; use one of {', '.join(SOLVERS)}")


@cache
def _imported() -> Any:
    """Import PuLP, and drop the tracebacks of solvers that are not installed.

    PuLP 3.3 keeps why each of them could not be loaded, in the member `err` of its class. The traceback of such an
    error holds every frame that was running at the import, and with it the cluster that was planned on first.
    """
    found = import_module("pulp")
    for solver in vars(found).values():
        error = getattr(solver, "err", None)
        if isinstance(error, BaseException):
            error.__traceback__ = None
    return found


class _PuLP:
    """The module `pulp`."""

    def __getattr__(self, name: str) -> Any:
        """Return a name of the module, which is then found without this."""
        found = getattr(_imported(), name)
        setattr(self, name, found)
        return found


pulp: Any = _PuLP()

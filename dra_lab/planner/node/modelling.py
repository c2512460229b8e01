"""PuLP, imported so that it keeps no reference to the module that imports it first."""

from __future__ import annotations

import pulp

__all__ = ["pulp"]


def _let_go() -> None:
    """Drop the tracebacks of solvers that are not installed.

    PuLP 3.3 keeps why each of them could not be loaded, in the member `err` of its class. The traceback of such an
    error holds every frame that was running at the import, and with it the cluster that was planned on first.
    """
    for solver in vars(pulp).values():
        error = getattr(solver, "err", None)
        if isinstance(error, BaseException):
            error.__traceback__ = None


_let_go()

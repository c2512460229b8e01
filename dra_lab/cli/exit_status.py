"""Exit statuses of all commands: fits or valid, does not fit or invalid, could not be answered."""

from __future__ import annotations

FITS, NOT, UNANSWERED = 0, 1, 2


def status_of(outcome: str) -> int:
    """Return the exit status of an outcome: 0 for fits, 1 for does-not-fit, 2 for not decided or not checked."""
    return {"fits": FITS, "does-not-fit": NOT}.get(outcome, UNANSWERED)

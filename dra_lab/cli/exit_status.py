"""Exit statuses of all commands: fits or valid, does not fit or invalid, could not be answered."""

from __future__ import annotations

FITS, NOT, UNANSWERED = 0, 1, 2

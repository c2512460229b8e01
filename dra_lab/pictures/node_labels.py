"""Short names of nodes: what tells the nodes of a cluster apart."""

from __future__ import annotations

from collections.abc import Sequence

_LEAST = 4
"""Characters of a name that a label keeps at least."""


def short_labels(names: Sequence[str]) -> list[str]:
    """Return the names without what all of them begin and end with, cut at `-` and `.`, so that they still differ.

    At least four characters of each are left.
    """
    if len(names) < 2:
        return [name.split(".", 1)[0] or name for name in names]
    tails = [name.split(".") for name in names]
    if len({tuple(tail[1:]) for tail in tails}) == 1 and len({tail[0] for tail in tails}) == len(names):
        names = [tail[0] for tail in tails]
    parts = [name.split("-") for name in names]
    same = 0
    while all(len(part) > same + 1 for part in parts) and len({part[same] for part in parts}) == 1:
        same += 1
    while same and any(len("-".join(part[same:])) < _LEAST for part in parts):
        same -= 1
    return ["-".join(part[same:]) for part in parts]

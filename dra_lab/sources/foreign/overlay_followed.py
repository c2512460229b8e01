"""Topology files over a cluster that is followed: nodes that come or change get what the files say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.overlay import Overlay
from dra_lab.sources.foreign.topology_overlay import LaidOver, OverlayReading

RULES = ("overlay", "overlay-contradiction")
"""Rules of the findings that say over which nodes a file is laid; they change with the nodes."""


class FollowedOverlays:
    """The overlays of a cluster, kept up to date with its slices.

    A file that was added to all nodes that it matches is also added to new nodes. A file that was added to named nodes
    is added again to nodes of these names, and to no others.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Begin with the overlays of a snapshot; those that no file is known of stay as they are."""
        self._overlays: Mapping[str, Overlay] = cluster.overlays
        found: dict[OverlayReading, None] = {}
        # the file that was laid over first stands first wherever two are laid over one node
        for overlay in sorted(cluster.overlays.values(), key=lambda overlay: -len(_readings(overlay))):
            found.update(dict.fromkeys(_readings(overlay)))
        self._readings = tuple(found)

    def __bool__(self) -> bool:
        """Say whether there is a file that nodes to come could get something from."""
        return bool(self._readings)

    def after(self, cluster: Cluster, nodes: Iterable[str]) -> Mapping[str, Overlay]:
        """Return the overlays now that the slices of some nodes changed: the same object where none differs."""
        changed: dict[str, Overlay | None] = {}
        for node in nodes:
            known = self._overlays.get(node)
            if known is not None and not isinstance(known, LaidOver):
                continue
            now: Overlay | None = None
            for reading in self._readings:
                now = reading.over(now, cluster, node)
            if now is not known:
                changed[node] = now
        if changed:
            merged = {**self._overlays, **changed}
            self._overlays = {node: merged[node] for node in sorted(merged) if merged[node] is not None}  # type: ignore[misc]
        return self._overlays

    def findings(self, findings_before: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings, with the current ones about overlays in place of the older ones."""
        others = tuple(finding for finding in findings_before if finding.rule not in RULES)
        return (*others, *(finding for reading in self._readings for finding in reading.findings(self._overlays)))


def _readings(overlay: Overlay) -> tuple[OverlayReading, ...]:
    return tuple(reading for reading, _ in overlay.fits) if isinstance(overlay, LaidOver) else ()

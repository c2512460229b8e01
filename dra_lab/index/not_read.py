"""Objects that an answer needs and that could not be read: without them neither "fits" nor "does not" is known."""

from __future__ import annotations

from collections.abc import Iterable

from dra_lab.errors import InputError
from dra_lab.manifests.versions import GROUP
from dra_lab.model.cluster import Cluster
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import ClaimSketch, asks

UNREAD = ("right-missing", "kind-not-read", "dra-not-served")
"""Rules of the findings that name, as their subject, what could not be read (`sources.live.kinds`)."""

_SLICES, _CLASSES, _NODES = f"resourceslices.{GROUP}", f"deviceclasses.{GROUP}", "nodes"


def not_read(
    cluster: Cluster, sketches: Iterable[ClaimSketch] = (), *, selects_nodes: bool = False
) -> Shortfall | None:
    """Return what these claims need and could not be read, None if all of it was.

    ResourceSlices are always needed, DeviceClasses if a claim names one that no file of its own brings, Nodes if slices
    or, with `selects_nodes`, the pod select nodes by their labels.
    """
    unread = {finding.subject: finding for finding in cluster.findings if finding.rule in UNREAD}
    if not unread:
        return None
    # a finding may also say that a kind cannot be watched: then its objects were read
    needed = [GROUP]
    if not cluster.slices:
        needed.append(_SLICES)
    own = frozenset(cluster.class_by_name) - cluster.given_classes
    named = {ask.device_class_name for sketch in sketches for request in sketch.requests for ask in asks(request)}
    if not own and not named <= cluster.given_classes:
        needed.append(_CLASSES)
    if not cluster.nodes and (selects_nodes or cluster.network_slices):
        needed.append(_NODES)
    finding = next((unread[subject] for subject in needed if subject in unread), None)
    if finding is None:
        return None
    return Shortfall(finding.rule, finding.subject, finding.message, advice=finding.advice)


def refuse_not_read(cluster: Cluster, sketches: Iterable[ClaimSketch], *, selects_nodes: bool = False) -> None:
    """Raise InputError for claims that need what could not be read (`not_read`)."""
    found = not_read(cluster, sketches, selects_nodes=selects_nodes)
    if found is not None:
        raise InputError(f"not checked: {found.message}. {found.advice}")

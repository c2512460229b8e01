"""Answers that every view needs of a cluster and a drawing, worked out before the kernel's loop asks for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from dra_lab.errors import DraLabError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer, layered_release
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import Move
from dra_lab.model.sketch import ClaimSketch, Link, claims_of
from dra_lab.topology.layered import Layered, with_possible_layers

SMALL = 300
"""ResourceSlices up to which a view works out itself what it asks for: some hundredths of a second."""

_PREPARED = "prepared"
_CHECKED = "checked"
_CHECKING = "being checked"
_MOST_SKETCHES = 8
_MOST = 16


def is_small(cluster: Cluster) -> bool:
    """Say whether whatever is asked of a cluster is soon found."""
    return len(cluster.slices) <= SMALL


def is_prepared(cluster: Cluster) -> bool:
    """Say whether palette and summary of a cluster are known, or soon found."""
    return is_small(cluster) or _PREPARED in _done(cluster)


def is_counted(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> bool:
    """Say whether the devices that a drawing may mean are known, or soon found."""
    return is_small(cluster) or any(one is sketch or one == sketch for one in _counted(cluster, release))


def is_checked(cluster: Cluster) -> bool:
    """Say whether the findings of a cluster are known, or soon found."""
    return is_small(cluster) or _CHECKED in _done(cluster)


def begin_check(cluster: Cluster) -> bool:
    """Say whether a cluster is still to be checked, by the one who asks: who comes later does not check it again."""
    done = _done(cluster)
    if is_checked(cluster) or _CHECKING in done:
        return False
    done.add(_CHECKING)
    return True


def is_being_checked(cluster: Cluster) -> bool:
    """Say whether the findings of a cluster are being worked out."""
    return _CHECKING in _done(cluster)


def check(cluster: Cluster) -> None:
    """Check a cluster and let it remember the findings."""
    from dra_lab.checks.cluster_checks import check_cluster

    try:
        with suppress(DraLabError):  # a view that asks again tells it in its own place
            check_cluster(cluster)
        _done(cluster).add(_CHECKED)
    finally:
        _done(cluster).discard(_CHECKING)


def checked_findings(cluster: Cluster, before: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings about a cluster, and those of `before` until they are known."""
    from dra_lab.checks.cluster_checks import check_cluster

    return check_cluster(cluster) if is_checked(cluster) else before


def prepare(cluster: Cluster, release: KubernetesRelease) -> None:
    """Work out what every view asks of a new cluster; seconds for the first of 90,000 devices, else tenths of them."""
    from dra_lab.sketch.palette import palette
    from dra_lab.words.cluster_document import summary

    with suppress(DraLabError):  # a view that asks again tells it in its own place
        palette(cluster)
        summary(cluster, release)
    _done(cluster).add(_PREPARED)


def count_matches(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> Mapping[str, Any]:
    """Return the status of every request (see `request_status`), and let the views of the drawing be quick after it."""
    from dra_lab.sketch.compile import compile_claim
    from dra_lab.sketch.links import link_options
    from dra_lab.sketch.request_status import request_status

    found = request_status(cluster, sketch, release)
    with suppress(DraLabError):  # the plan says why it cannot be written
        for claim in claims_of(sketch):
            compile_claim(claim, cluster, release)
            names = tuple(request.name for request in claim.requests)
            for link in (*claim.links, *(Link(name="new", requests=pair) for pair in combinations(names[:_MOST], 2))):
                link_options(cluster, claim, link, release)
    known = _counted(cluster, release)
    known[:] = (*known[-_MOST_SKETCHES:], sketch)
    return found


@once_per_hardware
def _counted(_cluster: Cluster, _release: KubernetesRelease) -> list[ClaimSketch]:
    """Return the latest drawings whose devices were counted."""
    return []


@once_per_snapshot
def _done(_cluster: Cluster) -> set[str]:
    """Return which of the steps are done: _PREPARED, _CHECKED."""
    return set()


def check_node(cluster: Cluster, node: str) -> None:
    """Raise InputError where a node is named that the cluster does not have; "" leaves it open."""
    if node:
        cluster.node_named(node)


LEAVING_SECONDS = 2.0
"""How long places are looked for, for the pods of drained nodes: a person waits for the next answer meanwhile."""


def settled_layers(cluster: Cluster, layers: Sequence[Layer]) -> Layered:
    """Return the cluster with the layers that apply, in which the pods of drained nodes run elsewhere.

    The note of a drained node says where its pods go.
    """
    layered = with_possible_layers(cluster, layers)
    if not layered.cluster.leaving:
        return layered
    from dra_lab.planner.leaving import settled
    from dra_lab.words.document import printable
    from dra_lab.words.moves_document import drained_sentence

    release = layered.cluster.target_release(layered_release(layers) or None)
    found = settled(layered.cluster, release, time_limit=LEAVING_SECONDS)
    notes = dict(layered.notes)
    for number, layer in enumerate(layers):
        mine = [move for move in found.moves if move.drained and move.node_from == layer.subject]
        if layer.change == "drain" and mine:
            notes[number] = printable(drained_sentence(mine))
    return Layered(found, layered.refused, notes)


def moved_layers(moves: Sequence[Move], layers: Sequence[Layer] = ()) -> tuple[Layer, ...]:
    """Return the what-if changes that move running pods as a plan says, those of drained nodes too.

    These go where the plan has them, and not where they would fit after the other moves. Changes that are in `layers`
    are left out.
    """
    made = (
        Layer(
            change="moved",
            subject=f"{move.pod}={','.join(f'{placed.request}:{placed.device}' for placed in move.devices)}",
        )
        for move in moves
        if move.node_to
    )
    return tuple(layer for layer in made if layer not in layers)


PART_SECONDS = 5.0
"""How long the node states are searched until what is known so far is reported, with how many states are still open."""

MOST_SECONDS = 60.0
"""How long they are searched in all; what is open then stays reported as not searched."""


def manifest_findings(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, stop: threading.Event, *, fits: bool
) -> Iterator[tuple[Finding, ...]]:
    """Yield what is wrong with the manifest, and what kube-scheduler's search for it does on every node state.

    `fits` says that an allocation exists. All that is known comes again after each part. Verdicts of searches are kept,
    so that only new states cost time while a cluster is followed. Raises what compiling raises; Cancelled when `stop`
    is set.
    """
    from dra_lab.checks.document_checks import check_text
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.pinning.node_search import judged, search_pod, unallocated
    from dra_lab.pinning.pin_budget import budget_of

    written = check_text(manifest_yaml(sketch, cluster, release).text, "the manifest", release)
    claims = claims_of(sketch)
    for _ in range(int(MOST_SECONDS / PART_SECONDS)):
        found = search_pod(claims, cluster, release, budget_of(PART_SECONDS, stop))
        nowhere = unallocated(found, claims, cluster, release, sketch.name) if fits else ()
        yield (*written, *judged(found, sketch.name, release), *nowhere)
        if not found.skipped:
            return

"""`check`: manifests against a cluster, and what an upgrade of Kubernetes changes: the difference of two answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.errors import InputError
from dra_lab.findings import Finding
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import Manifests, read_manifests
from dra_lab.gitops.release_answers import ALLOCATED, PENDING, RULES, SELECTORS, STARTS, Compared, Key, ReleaseAnswer
from dra_lab.gitops.review import Review
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import GATES, RELEASES, SILENT, KubernetesRelease, can_set
from dra_lab.model.upgrade import ChangedAnswer, Turn, Upgrade
from dra_lab.words.rule_catalogue import rule_catalogue

_LEAST_SECONDS = 30.0
"""Seconds for finding since when answers change, if comparing them took less than twice that."""

_NO_FINDING, _NOT_CHECKED = ReleaseAnswer("no finding"), ReleaseAnswer("not checked", works=None)
_ABSENT = {ALLOCATED: ReleaseAnswer("would be allocated again"), PENDING: _NOT_CHECKED, STARTS: _NOT_CHECKED}


@overload
def check(cluster: Cluster, *, release: KubernetesRelease | str | None = ...) -> tuple[Finding, ...]: ...
@overload
def check(
    cluster: Cluster,
    paths: Iterable[str | Path],
    *,
    release: KubernetesRelease | str | None = ...,
    upgrade: None = ...,
    now: bool = ...,
    time_limit: float = ...,
) -> Review: ...
@overload
def check(
    cluster: Cluster,
    paths: Iterable[str | Path] = ...,
    *,
    release: KubernetesRelease | str | None = ...,
    upgrade: KubernetesRelease | str,
    now: bool = ...,
    time_limit: float = ...,
) -> Upgrade: ...
def check(
    cluster: Cluster,
    paths: Iterable[str | Path] | None = None,
    *,
    release: KubernetesRelease | str | None = None,
    upgrade: KubernetesRelease | str | None = None,
    now: bool = False,
    time_limit: float = 60.0,
) -> tuple[Finding, ...] | Review | Upgrade:
    """Return what is wrong with a cluster, whether manifests are valid and fit, or what an upgrade changes.

    Args:
        cluster: The cluster.
        paths: Files and folders of manifests, or "-" for standard input. Default None: the cluster alone.
        release: The release of Kubernetes; default: that of the cluster. An upgrade starts there.
        upgrade: The release where the upgrade ends; default None: manifests are checked in one release.
        now: Whether manifests get only devices that are not in use; default: all devices.
        time_limit: Seconds for all planning together.

    Returns:
        The findings about the cluster, errors first, or the review of the manifests. With `upgrade` the answers that
        change: those of pools, slices, taint rules, selectors, claims and pods of the cluster, and of the manifests.

    Raises:
        InputError: A release is not known, or `upgrade` is not newer than the other one.
        SourceError: There is no file or folder at a path.

    Example:
        >>> from dra_lab import check, load_cluster
        >>> check(load_cluster("sample:trouble"))[0].rule
        'pool-incomplete'
        >>> check(load_cluster("sample:two-sockets"), release="1.36.2", upgrade="1.36.3").outcome
        'fits'
    """
    start = cluster.target_release(release)
    if paths is None and upgrade is None:
        gates = {"server_version": f"v{start.version}", "feature_gates": start.gates}
        return check_cluster(cluster if release is None else cluster.with_objects(**gates))
    manifests = read_manifests(paths or ())
    if upgrade is None:
        return check_manifests(cluster, manifests, release=start, now=now, time_limit=time_limit)
    target = cluster.target_release(upgrade)
    refuse_older(start, target, cluster.name)
    return compare_releases(cluster, manifests, start, target, now=now, time_limit=time_limit)


def refuse_older(start: KubernetesRelease, target: KubernetesRelease, name: str) -> None:
    """Raise InputError for an upgrade to a release that is not newer."""
    if RELEASES.index(target.version) <= RELEASES.index(start.version):
        message = f"Kubernetes {target.version} is not newer than {start.version}, where the upgrade of {name} starts"
        raise InputError(f"{message}; give a newer release, or another start with --release")


def compare_releases(
    cluster: Cluster,
    manifests: Manifests,
    start: KubernetesRelease,
    target: KubernetesRelease,
    *,
    now: bool = False,
    allow_worse: bool = False,
    time_limit: float = 60.0,
    progress: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Upgrade:
    """Return the answers that differ between two releases.

    `progress` is called with the name of each part. Raises Cancelled once `cancel` is set, between two parts.
    """
    asked = Compared(cluster, manifests, start, now, allow_worse, progress, cancel)
    begun = time.monotonic()
    before = asked.answers(start, begun + time_limit / 2)
    after = asked.answers(target, begun + time_limit)
    pairs = {key: (_of(before, key), _of(after, key)) for key in dict.fromkeys((*before, *after))}
    changed = {key: pair for key, pair in pairs.items() if not _is_open(*pair) and not _same(*pair)}
    end = time.monotonic() + max(_LEAST_SECONDS, (time.monotonic() - begun) / 2)
    causes = _Causes(asked, start, target).found(changed, end)
    rows = [_row(key, *pair, causes.get(key, _Cause())) for key, pair in changed.items()]
    order = [*Turn]
    undecided = tuple(dict.fromkeys(f"{key[1]} {key[2]}" for key, pair in pairs.items() if _is_open(*pair)))
    counts = dict(_counts(cluster, before, manifests))
    rows.sort(key=lambda one: order.index(one.turn))
    return Upgrade(cluster.name, str(start), str(target), tuple(rows), counts, undecided)


_Pairs = Mapping[Key, tuple[ReleaseAnswer, ReleaseAnswer]]


@dataclass(frozen=True)
class _Cause:
    """The first release with the answer of the target, and the gates without which it would have that of the start."""

    since: str = ""
    gates: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Causes:
    asked: Compared
    start: KubernetesRelease
    target: KubernetesRelease

    def found(self, changed: _Pairs, end: float) -> Mapping[Key, _Cause]:
        """Return since when each answer is that of the target, and by which gates, as far as that is found in time."""
        if not changed:
            return {}
        since = self._since(changed, end)
        gates: dict[Key, tuple[str, ...]] = {}
        for version in dict.fromkeys(since.values()):
            here = {key: changed[key] for key, since_then in since.items() if since_then == version}
            for gate, release in self._without_gates(self._with_gates(version)):
                if time.monotonic() < end:
                    found = self.asked.answers(release, end, here)
                    for key, (old, new) in here.items():
                        if _is_only(_of(found, key), old, new):
                            gates[key] = (*gates.get(key, ()), gate)
        return {key: _Cause(version, gates.get(key, ())) for key, version in since.items()}

    def _since(self, changed: _Pairs, end: float) -> Mapping[Key, str]:
        """Return the first release with the answer of the target, nothing for what is not decided in between."""
        first, last = (RELEASES.index(one.version) for one in (self.start, self.target))
        since: dict[Key, str] = {}
        left = dict(changed)
        for version in RELEASES[first + 1 : last]:
            if time.monotonic() > end:
                return since
            found = self.asked.answers(self._with_gates(version), end, left)
            for key, (old, new) in (*left.items(),):
                if _of(found, key).ended:
                    del left[key]
                elif _is_only(_of(found, key), new, old):
                    since[key] = version
                    del left[key]
        return {**since, **dict.fromkeys(left, self.target.version)}

    def _with_gates(self, version: str) -> KubernetesRelease:
        gates = {**self.start.gates, **self.target.gates}
        return KubernetesRelease(version, {gate: on for gate, on in gates.items() if can_set(version, gate, on=on)})

    def _without_gates(self, release: KubernetesRelease) -> Iterator[tuple[str, KubernetesRelease]]:
        """Yield a release with each gate in turn as the start has it, where it differs and can be set."""
        for gate in (one for one in GATES if one not in SILENT):
            on = self.start.enabled(gate)
            if on != release.enabled(gate) and can_set(release.version, gate, on=on):
                yield gate, replace(release, gates={**release.gates, gate: on})


def _of(answers: Mapping[Key, ReleaseAnswer], key: Key) -> ReleaseAnswer:
    return answers.get(key) or _ABSENT.get(key[0]) or (_NOT_CHECKED if key[1] == "workload" else _NO_FINDING)


def _same(old: ReleaseAnswer, new: ReleaseAnswer) -> bool:
    """Say whether two answers are equal as far as both are known."""
    parts = zip(old.value, new.value, strict=False)
    return len(old.value) == len(new.value) and all(a == b or a is None or b is None for a, b in parts)


def _is_only(found: ReleaseAnswer, one: ReleaseAnswer, other: ReleaseAnswer) -> bool:
    return not found.ended and _same(found, one) and not _same(found, other)


def _is_open(old: ReleaseAnswer, new: ReleaseAnswer) -> bool:
    """Say whether it is not decided whether an answer changes."""
    return old.ended or new.ended or (new.works is None and old.works is not None)


def _row(key: Key, old: ReleaseAnswer, new: ReleaseAnswer, cause: _Cause) -> ChangedAnswer:
    turn = Turn.CHANGES
    if old.works and not new.works:
        turn = Turn.STOPS
    elif new.works and not old.works and key[0] != RULES:
        turn = Turn.STARTS
    named = new if new.rule or not old.rule else old
    entry = rule_catalogue().get(named.rule)
    advice = "" if turn is Turn.STARTS else (named.advice or (entry.remedy if entry is not None else ""))
    source = "docs/semantics.md 1.2" if cause.gates else named.source if entry is None else entry.source
    origin = new.origin or old.origin
    words = old.words, new.words
    return ChangedAnswer(turn, key[1], key[2], *words, named.rule, cause.since, cause.gates, source, advice, origin)


def _counts(cluster: Cluster, answers: Mapping[Key, ReleaseAnswer], manifests: Manifests) -> Iterator[tuple[str, int]]:
    yield "pool", len(cluster.slices_by_pool)
    yield "slice", len(cluster.slices)
    yield "taint rule", sum(key[0] == RULES for key in answers)
    yield "selector", sum(key[0] == SELECTORS for key in answers)
    yield "claim", len(cluster.claims)
    yield "pod", len(cluster.pods)
    yield "manifest", len(manifests.documents)

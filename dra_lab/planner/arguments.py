"""Arguments of the public questions: each is what it has to be, or an InputError names it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dra_lab.errors import InputError, a_kind
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import HOSTS, Workload

MOST_WANTED = 1_000_000
"""More replicas, or gangs, are not planned at once."""

T = TypeVar("T")


def given(name: str, value: Any, kind: type[T]) -> T:
    """Return an argument that is one value of a kind. Raises InputError."""
    if not isinstance(value, kind):
        raise InputError(f"{name} is a {kind.__name__}, not {a_kind(value)}")
    return value


def listed(name: str, values: Any, kind: type[T]) -> tuple[T, ...]:
    """Return an argument that is a list of values of a kind. Raises InputError."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} is a list of {kind.__name__}, not one {type(values).__name__}; write [...] around it")
    return tuple(given(f"{name}[{number}]", value, kind) for number, value in enumerate(values))


def workloads_given(name: str, values: Any) -> tuple[Workload, ...]:
    """Return workloads with numbers that can be planned. Raises InputError."""
    found = listed(name, values, Workload)
    for number, workload in enumerate(found):
        _whole(f"{name}[{number}].replicas", workload.replicas)
        _whole(f"{name}[{number}].priority", workload.priority)
        _check_pods(f"{name}[{number}]", workload)
    wanted = sum(workload.replicas * workload.size for workload in found)
    if wanted > MOST_WANTED:
        raise InputError(f"{name} want {wanted:,} replicas; at most {MOST_WANTED:,} are planned at once. Ask for fewer")
    return found


def several_pods(what: Any) -> tuple[Workload, ...] | None:
    """Return workloads, each drawing of a list as a workload; None for the claims of one pod. Raises InputError."""
    if isinstance(what, Workload):
        return (what,)
    if isinstance(what, str | Mapping) or not isinstance(what, Iterable):
        return None
    every = tuple(what)
    if any(isinstance(one, ResourceClaim) for one in every):
        return None
    every = tuple(Workload(one.name, one) if isinstance(one, ClaimSketch) else one for one in every)
    for number, one in enumerate(every):
        if not isinstance(one, Workload):
            raise InputError(f"what[{number}] is a drawing or a Workload, not {a_kind(one)}")
    return every


def is_one_pod(workloads: Sequence[Workload]) -> bool:
    """Say whether workloads are one pod in all."""
    return [(one.replicas, one.is_gang) for one in workloads] == [(1, False)]


def as_pods(workload: Workload) -> Workload:
    """Return a gang of one pod, which any node is a domain of, as a pod."""
    beside = (workload.prefer_level, workload.priority, workload.every_shared_claim)
    if (workload.size, *beside) != (1, "", 0, ()) or workload.least < 1 or workload.level not in ("", *HOSTS):
        return workload
    return Workload(workload.name, workload.claims, replicas=workload.replicas)


def workloads_of(what: Any) -> tuple[Workload, ...]:
    """Return a drawing, a workload or a list of them as workloads. Raises InputError."""
    found = several_pods([what] if isinstance(what, ClaimSketch) else what)
    if found is None:
        raise InputError(f"what is a drawing, a Workload or a list of them, not {a_kind(what)}")
    return found


def workload_given(name: str, value: Any) -> Workload:
    """Return one workload whose replicas do not matter, or a drawing as one. Raises InputError."""
    if not isinstance(value, ClaimSketch | Workload):
        raise InputError(f"{name} is a drawing or a Workload, not {a_kind(value)}")
    found = Workload(value.name, value) if isinstance(value, ClaimSketch) else value
    _check_pods(name, found)
    return found


def _check_pods(where: str, workload: Workload) -> None:
    for number, group in enumerate(workload.pods):
        at = f"{where}.pods[{number}]"
        _whole(f"{at}.count", group.count)
        if group.minimum is not None:
            _whole(f"{at}.minimum", group.minimum)
        for pair in listed(f"{at}.slices", group.slices, tuple):
            if len(pair) != 2 or not isinstance(pair[1], str):
                raise InputError(f"{at}.slices has {pair!r}; write (size, level), such as (4, 'host')")
            _whole(f"{at}.slices", pair[0])


def _whole(where: str, value: Any) -> None:
    try:
        wrong = isinstance(value, bool) or operator.index(value) != value
    except TypeError:
        wrong = True
    if wrong:
        raise InputError(f"{where} is a whole number, not {value!r}")


# --------------------------------------------------------------------- gangs and their levels


def check_gang(gang: Workload) -> None:
    """Raise InputError for a gang that makes no sense, whatever its levels are."""
    where = f"gang {gang.name!r}"
    if gang.same:
        raise InputError(f"{where} has same, which only make_plan knows; give the workloads of its plan instead")
    if gang.replicas < 0:
        raise InputError(f"{where} has {gang.replicas} replicas; give 0 or more")
    if not gang.pods:
        raise InputError(f"{where} has no groups; give one at least")
    names = [group.name for group in gang.pods]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where} has two groups {name!r}; give each workload its own name")
    if not gang.least:
        raise InputError(f"{where} starts without any pod; give one of its groups a min of 1 or more")
    for group in gang.pods:
        here, least, most = f"group {group.name!r} of {where}", group.least, group.count
        if not 0 <= least <= most or most < 1:
            raise InputError(f"{here} has {most} replicas, at least {least}; give 0 <= min <= replicas, 1 or more")
        if group.leader and most != 1:
            raise InputError(f"{here} is a leader with {most} replicas; give it one")
        if group.shared_claims and not least:
            raise InputError(f"{here} has claims that its pods share, and may have no pod; give a min of 1 or more")
        if not (group.claims or group.shared_claims or gang.shared_claims):
            raise InputError(f"{here} has pods without claims; draw at least one request, or a claim that they share")


def hierarchy_of(gang: Workload, hierarchies: Sequence[Hierarchy]) -> Hierarchy | None:
    """Return the hierarchy of the levels of a gang, None if it names none. Raises InputError if it is unknown."""
    named = [gang.level, gang.prefer_level]
    for group in gang.pods:
        named += [group.level, group.prefer_level, *(level for _, level in group.slices)]
    levels = [level for level in dict.fromkeys(named) if level not in ("", *HOSTS)]
    if gang.hierarchy:
        # A level that it does not have is reported where it is read.
        levels = []
    return tree_with(f"gang {gang.name!r}", gang.hierarchy, levels, hierarchies)


def tree_with(where: str, name: str, levels: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Hierarchy | None:
    """Return the hierarchy with a name and some levels, None if neither is given.

    Raises InputError if there is none, or several; `where` is what names it.
    """
    known = {hierarchy.name: hierarchy for hierarchy in hierarchies}
    names = ", ".join(known) or "none"
    if name and name not in known:
        raise InputError(f"{where}: there is no hierarchy {name!r}; the cluster has: {names}")
    if not levels:
        return known.get(name)
    able = [tree for tree in hierarchies if name in ("", tree.name) and _has(tree, levels)]
    if len(able) == 1:
        return able[0]
    if able:
        raise InputError(f"{where}: several hierarchies have {levels[0]!r}; name one of {names}")
    every = "; ".join(f"{one.name}: {', '.join(level.name for level in one.levels)}" for one in hierarchies)
    raise InputError(f"{where}: no hierarchy has {' and '.join(map(repr, levels))}; there are: {every or 'none'}")


def _has(tree: Hierarchy, levels: Sequence[str]) -> bool:
    try:
        return all(tree.level_index(level) >= 0 for level in levels)
    except InputError:
        return False

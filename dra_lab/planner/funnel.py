"""How many devices are left after each test, node class by node class; and whether too few are there, or scattered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dra_lab.authoring.links import LEVEL_WORDS
from dra_lab.model.claims import expressions
from dra_lab.model.names import DeviceID
from dra_lab.model.reasons import Funnel, FunnelStep, Scarcity, SelectorFailure
from dra_lab.model.sketch import Ask, covers
from dra_lab.planner.eligible import AskEligibility, NodeEligibility, eligibility
from dra_lab.planner.places import place_values
from dra_lab.planner.progress import Limits
from dra_lab.planner.scan import EqualNodes, Scan, failing_devices
from dra_lab.planner.stages import Stage
from dra_lab.topology.locality import localities

_LATER = (("taint", Stage.IN_USE), ("in-use", Stage.CAPACITY), ("capacity", Stage.FREE))
_NOUNS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices"}


def look(scan: Scan, classes: Sequence[EqualNodes], limits: Limits) -> list[tuple[EqualNodes, NodeEligibility]]:
    """Return what is eligible on each class of nodes; fewer than there are where time ended before."""
    found: list[tuple[EqualNodes, NodeEligibility]] = []
    for equal in classes:
        if limits.reached:
            break
        found.append((equal, eligibility(scan.rules, equal.nodes[0])))
    return found


def funnels(scan: Scan, looked: Sequence[tuple[EqualNodes, NodeEligibility]]) -> tuple[Funnel, ...]:
    """Return the counts of every request on every class of nodes, equal ones together, most nodes first."""
    found: dict[tuple[object, ...], list[object]] = {}
    for equal, eligible in looked:
        for part in eligible.asks:
            needed = part.ask.count or len(part.listed)
            key = (part.ask.reference, needed, _steps(scan, eligible, part), len(part.errors))
            row = found.setdefault(key, [equal.nodes[0], 0])
            row[1] += len(equal.nodes)  # type: ignore[operator]
    return _funnels(found)


def _funnels(found: dict[tuple[object, ...], list[object]]) -> tuple[Funnel, ...]:
    order = {reference: number for number, reference in enumerate(dict.fromkeys(key[0] for key in found))}
    rows = [Funnel(key[0], key[1], node, nodes, key[2], key[3]) for key, (node, nodes) in found.items()]  # type: ignore[arg-type]
    return tuple(sorted(rows, key=lambda row: (order[row.request], -row.nodes, row.node)))


def _steps(scan: Scan, eligible: NodeEligibility, part: AskEligibility) -> tuple[FunnelStep, ...]:
    """Return the tests of one request in their order: class, its selectors, own selectors, taints, use, links."""
    steps = [FunnelStep("published", len(part.stages)), *_selector_steps(scan, eligible, part)]
    matching = part.count(Stage.TAINT)
    if matching != steps[-1].count:
        steps.append(FunnelStep("gate", matching))
    steps += [FunnelStep(test, part.count(stage)) for test, stage in _LATER]
    places = localities(scan.cluster, eligible.node)
    left = part.listed if part.ask.all_devices and not part.blocked else part.devices
    for link in scan.sketch.links:
        if link.must and any(covers(reference, part.ask) for reference in link.requests):
            left = tuple(d for d in left if place_values(places[d], link, eligible.seen[d], lists=eligible.lists))
            steps.append(FunnelStep("link", len(left), f"{link.name} ({LEVEL_WORDS.get(link.where, link.where)})"))
    return tuple(steps)


def _selector_steps(scan: Scan, eligible: NodeEligibility, part: AskEligibility) -> Iterator[FunnelStep]:
    ask = part.ask
    device_class = scan.cluster.class_by_name.get(ask.device_class_name)
    if device_class is None:
        yield FunnelStep("class", 0, ask.device_class_name)
        return
    of_class = expressions(device_class.spec.selectors)
    refused = _refusals(scan, eligible, part, of_class)
    left = len(part.stages)
    for position, text in enumerate((*of_class, *ask.selectors)):
        left -= refused[position]
        yield FunnelStep("class-selector" if position < len(of_class) else "selector", left, text)


def _refusals(scan: Scan, eligible: NodeEligibility, part: AskEligibility, of_class: Sequence[str]) -> Counter[int]:
    """Return how many devices each selector refuses or fails on, those before it having passed."""
    chain = (*of_class, *part.ask.selectors)
    found: Counter[int] = Counter()
    for item in scan.views.view(eligible.node).devices:
        match = scan.rules.matching.match(part.ask, item.driver, item.device)
        if match.stage != "match":
            first = len(of_class) if match.stage == "selector" else 0
            found[chain.index(match.expression, first)] += 1
    return found


def selector_failures(scan: Scan) -> tuple[SelectorFailure, ...]:
    """Return the selectors that fail on devices when they are evaluated, each with its guarded form."""
    from dra_lab.cel.guard import guarded
    from dra_lab.cel.matching import knows_lists

    found: dict[tuple[str, str], list[DeviceID]] = {}
    messages: dict[tuple[str, str], str] = {}
    for reference, (device, expression, message) in failing_devices(scan):
        # The message names its device: that of the first stands for all.
        messages.setdefault((reference, expression), message)
        found.setdefault((reference, expression), []).append(device)
    if not found:
        return ()
    wanted = {device for devices in found.values() for device in devices}
    published = {
        item.id: item.device for view in scan.views.nodes.values() for item in view.devices if item.id in wanted
    }
    lists = knows_lists(scan.release)
    return tuple(
        SelectorFailure(
            reference,
            expression,
            tuple(devices),
            messages[reference, expression],
            guarded(expression, [(device.driver, published[device]) for device in devices], lists=lists),
        )
        for (reference, expression), devices in found.items()
    )


def scarcity(scan: Scan, looked: Sequence[tuple[EqualNodes, NodeEligibility]]) -> tuple[Scarcity, ...]:
    """Say of each request whether the cluster has too few free devices, or enough, but no node has them.

    A device that several nodes see counts once. Requests for all devices are left out: they need no number. Empty
    where not every node was looked at.
    """
    free: dict[str, set[DeviceID]] = {}
    most: dict[str, tuple[int, str]] = {}
    counts: Counter[str] = Counter()
    shared = {s.spec.pool.name for s in scan.cluster.network_slices}
    if len(looked) < len(scan.classes):
        return ()
    for equal, eligible in looked:
        for part in eligible.asks:
            name, here = part.ask.reference, part.devices
            own = [device for device in here if device.pool not in shared]
            counts[name] += len(own) * len(equal.nodes)
            free.setdefault(name, set()).update(device for device in here if device.pool in shared)
            if len(here) > most.get(name, (-1, ""))[0]:
                most[name] = (len(here), equal.nodes[0])
    return tuple(
        _scarce(scan, ask, counts[ask.reference] + len(free[ask.reference]), *most[ask.reference])
        for ask in scan.rules.asks
        if not ask.all_devices and ask.reference in most
    )


def _scarce(scan: Scan, ask: Ask, free: int, most: int, node: str) -> Scarcity:
    name, noun = ask.reference, _noun(scan, ask, node)
    if free < ask.count:
        kind, text = "shortage", f"request {name} needs {ask.count} {noun}; {free} are free in the whole cluster"
    elif most < ask.count:
        kind = "fragmentation"
        text = f"request {name}: {free} {noun} are free, no node has {ask.count} (node {node} has {most})"
    else:
        kind, text = "enough", f"request {name}: {free} {noun} are free, node {node} has {most} of them"
    return Scarcity(name, kind, ask.count, free, most, node, text[0].upper() + text[1:])


def _noun(scan: Scan, ask: Ask, node: str) -> str:
    places = localities(scan.cluster, node)
    found = scan.views.answers(ask, node)
    stages = found.stages[found.by_node[node]]
    matching = [item.id for item, stage in zip(scan.views.view(node).devices, stages, strict=True) if stage == "match"]
    kinds = {places[device].kind for device in matching}
    return _NOUNS.get(next(iter(kinds)), "devices") if len(kinds) == 1 else "devices"

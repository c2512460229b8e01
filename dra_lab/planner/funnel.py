"""How many devices are left after each test, node class by node class; and whether too few are there, or scattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.reasons import Funnel, Scarcity, SelectorFailure
from dra_lab.model.sketch import Ask
from dra_lab.planner.figures import AskFigures, Figures
from dra_lab.planner.scan import Scan, failing_devices
from dra_lab.topology.locality import localities

_NOUNS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices"}


def funnels(rows: Sequence[Figures]) -> tuple[Funnel, ...]:
    """Return the counts of every request on every kind of node, equal ones together, most nodes first."""
    found: dict[AskFigures, list[str]] = {}
    for row in rows:
        for ask in row.asks:
            # what is said of a request is the same whichever of its devices other nodes see
            found.setdefault(replace(ask, far=(), short=()), []).extend(row.nodes)
    told = (Funnel(a.request, a.needed, min(nodes), len(nodes), a.steps, a.failing) for a, nodes in found.items())
    order = {request: number for number, request in enumerate(dict.fromkeys(ask.request for ask in found))}
    return tuple(sorted(told, key=lambda funnel: (order[funnel.request], -funnel.nodes, funnel.node)))


def selector_failures(scan: Scan) -> tuple[SelectorFailure, ...]:
    """Return the selectors that fail on devices when they are evaluated, each with its guarded form."""
    found: dict[tuple[str, str], list[DeviceID]] = {}
    messages: dict[tuple[str, str], str] = {}
    for reference, (device, expression, message) in failing_devices(scan):
        # The message names its device: that of the first stands for all.
        messages.setdefault((reference, expression), message)
        found.setdefault((reference, expression), []).append(device)
    published = {item.id: item.device for view in scan.views.nodes.values() for item in view.devices} if found else {}
    return tuple(
        SelectorFailure(
            reference,
            expression,
            tuple(devices),
            messages[reference, expression],
            _guarded(scan, expression, devices, published),
        )
        for (reference, expression), devices in found.items()
    )


def _guarded(scan: Scan, expression: str, failing: Sequence[DeviceID], published: Mapping[DeviceID, Device]) -> str:
    """Return the guarded form of a selector, held against every device of the cluster."""
    from dra_lab.cel.guard import guarded

    wanted = set(failing)
    others = ((item.driver, device) for item, device in published.items() if item not in wanted)
    own = [(item.driver, published[item]) for item in failing]
    return guarded(expression, own, others, lists=scan.release.reads_lists)


def scarcity(scan: Scan, rows: Sequence[Figures]) -> tuple[Scarcity, ...]:
    """Say of each request whether the cluster has too few free devices, or enough, but no node has them.

    A device that several nodes see counts once. Requests for all devices are left out: they need no number. Empty
    where not every node was looked at.
    """
    if sum(len(row.nodes) for row in rows) < len(scan.rules.nodes) or not rows:
        return ()
    return tuple(
        _scarce(scan, ask, *_free(scan, [(row.asks[number], row.nodes) for row in rows]))
        for number, ask in enumerate(scan.rules.asks)
        if not ask.all_devices
    )


def _free(scan: Scan, rows: Sequence[tuple[AskFigures, Sequence[str]]]) -> tuple[int, int, str]:
    """Return how many devices are free for a request in all, the most on a node, and the first such node."""
    own, far = 0, set[DeviceID]()
    for ask, nodes in rows:
        own += (ask.free - len(ask.far)) * len(nodes)
        for node in nodes if ask.far else ():
            devices = scan.views.view(node).devices
            far.update(devices[position].id for position in ask.far)
    most = max(ask.free for ask, _ in rows)
    return own + len(far), most, min(node for ask, nodes in rows if ask.free == most for node in nodes)


def _scarce(scan: Scan, ask: Ask, free: int, most: int, node: str) -> Scarcity:
    name, noun = ask.reference, _noun(scan, ask, node)
    if free < ask.count:
        kind, text = (
            "shortage",
            f"request {name} needs {_many(ask.count, noun)}; {free} {_be(free)} free in the whole cluster",
        )
    elif most < ask.count:
        kind = "fragmentation"
        text = f"request {name}: {free} {noun} are free, no node has {ask.count} (node {node} has {most})"
    else:
        kind, text = "enough", f"request {name}: {_many(free, noun)} {_be(free)} free, node {node} has {most} of them"
    return Scarcity(name, kind, ask.count, free, most, node, text[0].upper() + text[1:])


def _many(number: int, noun: str) -> str:
    return f"{number} {noun.removesuffix('s') if number == 1 else noun}"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _noun(scan: Scan, ask: Ask, node: str) -> str:
    places = localities(scan.cluster, node)
    stages = scan.views.stages(ask, node)
    matching = [item.id for item, stage in zip(scan.views.view(node).devices, stages, strict=True) if stage == "match"]
    kinds = {places[device].kind for device in matching}
    return _NOUNS.get(next(iter(kinds)), "devices") if len(kinds) == 1 else "devices"

"""What a person should know beside the answer: selectors that fail, links that cannot be written, NICs without RDMA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dra_lab.authoring.links import attribute_for
from dra_lab.findings import Finding, Severity
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Placement
from dra_lab.model.sketch import ClaimSketch, How, Link, asks, covers
from dra_lab.planner.explain import LEVEL_WORDS
from dra_lab.planner.problem import pairwise_share
from dra_lab.planner.scan import Scan, failing_devices
from dra_lab.topology.locality import localities

RDMA = "dra.net/rdma"


def claim_findings(scan: Scan) -> Iterator[Finding]:
    """Yield what claim and cluster give cause to say, whatever the plan is; run-time errors of CEL come first."""
    yield from _selector_errors(scan)
    yield from _matching_nothing(scan)
    for link in scan.sketch.links:
        yield from _counts(scan.sketch, link)
        if link.is_level:
            yield from _not_writable(scan, link)


def _selector_errors(scan: Scan) -> Iterator[Finding]:
    failing: dict[tuple[str, str, str], list[DeviceID]] = defaultdict(list)
    for reference, device, expression, message in failing_devices(scan):
        failing[reference, expression, message].append(device)
    for (reference, expression, message), devices in failing.items():
        more = f" and {len(devices) - 1} more" if len(devices) > 1 else ""
        yield Finding(
            "selector-run-time-error",
            Severity.ERROR,
            reference,
            f"the selector {expression!r} fails on {devices[0]}{more}: {message}. kube-scheduler gives up the whole "
            "pod when it meets such a device",
            _guard(expression),
        )


def _guard(expression: str) -> str:
    name = expression.split(" ", 1)[0].strip("!(")
    if name.startswith("device.attributes[") and "." in name:
        return f"Guard it: has({name}) && ({expression})"
    return "Guard it with has(...) && ..., or put a test of device.driver in front"


def _matching_nothing(scan: Scan) -> Iterator[Finding]:
    for request in scan.sketch.requests:
        for ask in asks(request):
            if ask.device_class_name not in scan.cluster.class_by_name:
                yield Finding(
                    "class-missing",
                    Severity.ERROR,
                    ask.reference,
                    f"the device class {ask.device_class_name!r} is not in the cluster",
                    "Create the class, or choose one that is there.",
                )
            elif not scan.matched.get(ask.reference) and scan.complete:
                yield Finding(
                    "selector-matches-nothing",
                    Severity.WARNING,
                    ask.reference,
                    "no device of the cluster matches this request",
                    "Relax its selectors, or choose another device class.",
                )


def _counts(sketch: ClaimSketch, link: Link) -> Iterator[Finding]:
    if link.how is not How.PAIRWISE:
        return
    ends = [
        [a for r in sketch.requests for a in asks(r) if covers(reference, a) and not a.all_devices]
        for reference in link.requests
    ]
    counts = [end[0].count for end in ends if end]
    if len(counts) < 2 or any(len({a.count for a in end}) > 1 for end in ends) or pairwise_share(counts) is not None:
        return
    yield Finding(
        "pairwise-counts",
        Severity.ERROR if link.must else Severity.WARNING,
        link.name,
        f"{' and '.join(map(str, counts))} devices cannot be paired: the larger is no whole multiple of the smaller",
        f"Use {' or '.join(_nearest(counts))}.",
    )


def _nearest(counts: list[int]) -> list[str]:
    """Return the nearest counts that work, keeping the smallest one."""
    least = min(counts)
    below = [count - count % least for count in counts]
    above = [count + -count % least for count in counts]
    return [" and ".join(map(str, option)) for option in (below, above)]


def _not_writable(scan: Scan, link: Link) -> Iterator[Finding]:
    choice = attribute_for(scan.cluster, scan.sketch, link, scan.release)
    if choice.name:
        return
    sides = "; ".join(
        f"{end} publishes {', '.join(names) if names else 'none'}" for end, names in sorted(choice.sides.items())
    )
    yield Finding(
        "link-not-writable",
        Severity.WARNING,
        link.name,
        f"kube-scheduler cannot be told this link: its ends share no attribute for the {LEVEL_WORDS[link.where]} "
        f"({sides})",
        "The plan keeps to it through the known locality; write selectors that place the ends together instead.",
    )


def placement_findings(scan: Scan, node_name: str, placements: Sequence[Placement]) -> Iterator[Finding]:
    """Yield what the chosen devices give cause to say."""
    places = localities(scan.cluster, node_name)
    devices = scan.devices(node_name)
    for link in scan.sketch.links:
        tied = [p.device for p in placements if _ties(scan.sketch, link, p)]
        kinds = {places[device].kind for device in tied}
        if link.how is How.APART or not {"gpu", "nic"} <= kinds:
            continue
        nics = list(dict.fromkeys(device for device in tied if places[device].kind == "nic"))
        plain = [n for n in nics if n.driver == "dra.net" and not _has_rdma(devices[n].lookup(RDMA, n.driver))]
        if plain:
            verb = "has" if len(plain) == 1 else "have"
            yield Finding(
                "nics-without-rdma",
                Severity.WARNING,
                link.name,
                f"{len(plain)} of the {len(nics)} chosen NICs {verb} no RDMA: {', '.join(str(nic) for nic in plain)}",
                'Add the selector has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true.',
            )


def _has_rdma(attribute: object) -> bool:
    return getattr(attribute, "bool_", None) is True


def _ties(sketch: ClaimSketch, link: Link, placement: Placement) -> bool:
    found = [a for request in sketch.requests for a in asks(request) if a.reference == placement.request]
    return any(covers(reference, ask) for reference in link.requests for ask in found)

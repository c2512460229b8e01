"""What a person should know beside the answer: selectors that fail, NICs without RDMA, cordoned nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dra_lab.findings import Finding, Severity, sentence_case
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.headroom import CORDONED
from dra_lab.model.names import PCIE_ROOT, DeviceID
from dra_lab.model.placement import FirstFit, FirstFitStatus, Placement
from dra_lab.model.reasons import SelectorFailure, Shortfall
from dra_lab.model.sketch import covers
from dra_lab.planner.node.goal_table import Scale, broken_links
from dra_lab.planner.scan import Scan, failing_devices
from dra_lab.topology.hierarchy_findings import some
from dra_lab.topology.locality import localities

RDMA = "dra.net/rdma"


def claim_findings(scan: Scan) -> Iterator[Finding]:
    """Yield what claim and cluster give cause to say, whatever the plan is; run-time errors of CEL come first."""
    for failure in selector_failures(scan):
        text, advice = _gives_up(failure), _guard_advice(failure)
        yield Finding("selector-run-time-error", Severity.ERROR, failure.request, text, advice)
    for ask in scan.rules.asks:
        known = ask.device_class_name in scan.rules.matching.classes
        if known and not scan.matched.get(ask.reference) and scan.complete:
            yield Finding(
                "selector-matches-nothing",
                Severity.WARNING,
                ask.reference,
                "no device of the cluster matches this request",
                "Relax its selectors, or choose another device class.",
            )


def selector_failures(scan: Scan) -> tuple[SelectorFailure, ...]:
    """Return the selectors that fail on devices when they are evaluated, each with its guarded form."""
    found: dict[tuple[str, str], list[DeviceID]] = {}
    for reference, (device, expression, _) in failing_devices(scan):
        found.setdefault((reference, expression), []).append(device)
    published = {item.id: item.device for view in scan.views.nodes.values() for item in view.devices} if found else {}
    asked, failures = {ask.reference: ask for ask in scan.rules.asks}, []
    for (reference, expression), devices in found.items():
        # The message names its device and the request: that of the first device stands for all.
        match = scan.rules.matching.match(asked[reference], devices[0].driver, published[devices[0]])
        guarded = _guarded(scan, expression, devices, published)
        failures.append(SelectorFailure(reference, expression, tuple(devices), match.error, guarded))
    return tuple(failures)


def _guarded(scan: Scan, expression: str, failing: Sequence[DeviceID], published: Mapping[DeviceID, Device]) -> str:
    """Return the guarded form of a selector, held against every device of the cluster."""
    from dra_lab.cel.selector import guarded

    wanted = set(failing)
    others = ((item.driver, device) for item, device in published.items() if item not in wanted)
    own = [(item.driver, published[item]) for item in failing]
    return guarded(expression, own, others, lists=scan.release.reads_lists)


def failure_shortfalls(failures: Sequence[SelectorFailure]) -> tuple[Shortfall, ...]:
    """Return the reasons that stop the pod wherever it would fit: selectors that fail on devices."""
    return tuple(
        Shortfall("selector-error", f.request, sentence_case(_gives_up(f)), 0, len(f.devices), "", _guard_advice(f))
        for f in failures
    )


def _gives_up(failure: SelectorFailure) -> str:
    more = f" and {len(failure.devices) - 1} more" if len(failure.devices) > 1 else ""
    return (
        f"a selector fails on {failure.devices[0]}{more}: {failure.message.rstrip('.')}. kube-scheduler gives up the "
        "whole pod when it meets such a device"
    )


def _guard_advice(failure: SelectorFailure) -> str:
    if failure.guarded:
        return f"Guard it: {failure.guarded}"
    if "DRAListTypeAttributes" in failure.message:
        return "No selector helps: choose a release that reads lists, or have the driver publish no list"
    return "No form of it that fails nowhere was found: ask with has(...) for what it reads, or test the type"


def placement_findings(scan: Scan, node_name: str, placements: Sequence[Placement]) -> Iterator[Finding]:
    """Yield what the chosen devices give cause to say."""
    places = localities(scan.cluster, node_name)
    devices, asked = scan.devices(node_name), {ask.reference: ask for ask in scan.rules.asks}
    for link in scan.sketch.links:
        tied = [p.device for p in placements if any(covers(end, asked[p.request]) for end in link.requests)]
        # An empty text is equal for kube-scheduler, and no root that is known.
        roots = [devices[device].lookup(PCIE_ROOT, device.driver) for device in tied]
        if link.must and link.where == "pcieRoot" and any(root is not None and root.value == "" for root in roots):
            yield Finding(
                "root-not-known",
                Severity.WARNING,
                link.name,
                "its devices publish an empty text as PCIe root: equal for kube-scheduler, but no root that is known",
                "Ask the driver's vendor; whether the devices are close together is not known.",
            )
        if not link.kind.near or not {"gpu", "nic"} <= {places[device].kind for device in tied}:
            continue
        nics = list(dict.fromkeys(device for device in tied if places[device].kind == "nic"))
        able = [n for n in nics if getattr(devices[n].lookup(RDMA, n.driver), "bool_", None) is True]
        plain = [n for n in nics if n.driver == "dra.net" and n not in able]
        if plain:
            verb = "has" if len(plain) == 1 else "have"
            yield Finding(
                "nics-without-rdma",
                Severity.WARNING,
                link.name,
                f"{len(plain)} of the {len(nics)} chosen NICs {verb} no RDMA: {', '.join(str(nic) for nic in plain)}",
                'Add the selector has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true.',
            )
    # docs/semantics.md 3.12.2
    bound = [device for device in dict.fromkeys(p.device for p in placements) if devices[device].binding_conditions]
    if bound:
        conditions = dict.fromkeys(name for device in bound for name in devices[device].binding_conditions)
        yield Finding(
            "binding-conditions",
            Severity.NOTE,
            ", ".join(str(device) for device in bound),
            f"the pod is bound only once {', '.join(conditions)} is true for these devices, for which kube-scheduler "
            "waits up to 600 s; it takes the pools of such devices last",
            "Nothing is to be done; a selector that leaves them out avoids the wait.",
        )


def first_fit_findings(scale: Scale, node_name: str, found: FirstFit | None) -> Iterator[Finding]:
    """Yield what kube-scheduler would do with the manifest that the drawing does not want."""
    if found is None or found.status is FirstFitStatus.STOPPED:
        return
    if found.status is not FirstFitStatus.ALLOCATED:
        yield Finding(
            "first-fit-fails",
            Severity.ERROR if found.status is FirstFitStatus.ERROR else Severity.WARNING,
            node_name,
            f"an allocation exists, but kube-scheduler does not find it: {found.message or found.status}",
            "Tighten the selectors to the devices of the plan.",
        )
    for name in broken_links(scale, found.placements):
        yield Finding(
            "first-fit-breaks-link",
            Severity.WARNING,
            name,
            f"kube-scheduler with this manifest would take devices of {node_name} that do not keep this link",
            "Write selectors that place the ends together.",
        )


_WHAT_IF = "kubectl uncordon NODE ends it; the what-if change --uncordon NODE plans as if it were done."


def cordoned_nodes(cluster: Cluster) -> tuple[Finding, ...]:
    """Return a note that names the cordoned nodes, on which no pod is planned; nothing without any."""
    if not cluster.cordoned:
        return ()
    message = f"{_are_cordoned(cluster.cordoned)}, so no pod is planned there"
    return (Finding("nodes-cordoned", Severity.NOTE, "nodes", message, _WHAT_IF),)


def cordoned_shortfall(cluster: Cluster, nodes: Collection[str]) -> Shortfall:
    """Return why a pod cannot start on the nodes that admit it: they are cordoned."""
    which = "all nodes are cordoned" if len(nodes) == len(cluster.node_names) else _are_cordoned(nodes)
    node = next(iter(nodes)) if len(nodes) == 1 else ""
    message = f"{which}: kube-scheduler starts no new pod there"
    return Shortfall(CORDONED, node, message, node=node, advice=_WHAT_IF)


def _are_cordoned(nodes: Collection[str]) -> str:
    return f"{some(sorted(nodes))} {'is' if len(nodes) == 1 else 'are'} cordoned"

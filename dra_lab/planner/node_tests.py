"""The tests of nodes that a pod's own words make, and why no node passes them.

The words are its node name, selector, required affinity and tolerations, and what it requests of a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec

from dra_lab.errors import QuantityError
from dra_lab.manifests.device_asks import is_extended
from dra_lab.manifests.pod_templates import typed_spec
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorTerm, ObjectMeta, node_matches
from dra_lab.model.pods import Pod
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.what_if import UNSCHEDULABLE, uncordoned
from dra_lab.scheduler.kueue.assignment import pod_requests
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some

_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
_MOST_VALUES = 4
_OPERATORS = {"In": "in", "NotIn": "not in", "Gt": ">", "Lt": "<", "Exists": "exists", "DoesNotExist": "does not exist"}

Used = Mapping[str, Mapping[str, Fraction]]
"""What pods request of each node already, by node and resource."""


@dataclass(frozen=True)
class NodeTest:
    """One test of kube-scheduler: what it is about, the nodes that pass, and why some nodes do not.

    `criterion` completes "... allows only node-1". `why` gets nodes of which none passes.
    """

    criterion: str
    passing: frozenset[str]
    why: Callable[[frozenset[str]], str]


def why_no_node(cluster: Cluster, tests: Sequence[NodeTest]) -> str:
    """Return why no node passes all tests, "" if one does. A test that no node passes is reported first."""
    every = left = frozenset(cluster.node_names)
    for test in tests:
        if not test.passing:
            return test.why(every)
    narrowing: list[NodeTest] = []
    for test in tests:
        now = left & test.passing
        if not now:
            return f"{only_words(narrowing, left)}, and {test.why(left)}"
        narrowing += [test] if now < left else []
        left = now
    return ""


def only_words(tests: Sequence[NodeTest], nodes: Collection[str]) -> str:
    """Return which nodes some tests leave: `its node selector zone=b allows only node-1`."""
    verb = "allows" if len(tests) == 1 else "allow"
    return f"{listed([test.criterion for test in tests])} {verb} only {some(sorted(nodes))}"


def node_tests(
    cluster: Cluster,
    spec: Mapping[str, Any],
    *,
    per_node: bool = False,
    used: Used | None = None,
    resource: Callable[[str], bool] = lambda name: not is_extended(name),
) -> Iterator[NodeTest]:
    """Yield the tests of a pod's spec. `used` is what other pods request, `resource` says which resources count."""
    nodes = cluster.node_by_name
    if isinstance(name := spec.get("nodeName"), str) and name:
        yield NodeTest(
            "its nodeName", frozenset(nodes) & {name}, lambda _: f"its nodeName is {name}, which is not in the cluster"
        )
    wanted = spec.get("nodeSelector")
    for key, value in wanted.items() if isinstance(wanted, Mapping) else ():
        yield _label_test(nodes, str(key), value)
    required = _at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and (test := _affinity_test(nodes, required)) is not None:
        yield test
    yield from _taint_tests(nodes, _list(spec.get("tolerations")), per_node=per_node)
    for name, amount in _requested(spec).items():
        if amount and resource(name):
            yield _amount_test(nodes, name, amount, used or {})


# ---------------------------------------------------------------- labels


def _label_test(nodes: Mapping[str, Node], key: str, value: object) -> NodeTest:
    passing = frozenset(name for name, node in nodes.items() if node.metadata.labels.get(key) == value)

    def why(others: frozenset[str]) -> str:
        asks = f"the label {key}={value} that its node selector asks for"
        return f"{_nobody(others, nodes, 'has', 'does not have')} {asks}; {_label_values(nodes, key, others)}"

    return NodeTest(f"its node selector {key}={value}", passing, why)


def _nobody(names: Collection[str], nodes: Mapping[str, Node], does: str, does_not: str) -> str:
    """Return `no node has`, `none of a, b has` or `a does not have`."""
    if len(names) == 1:
        return f"{next(iter(names))} {does_not}"
    return f"{'no node' if len(names) == len(nodes) else f'none of {some(sorted(names))}'} {does}"


def _label_values(nodes: Mapping[str, Node], key: str, names: Collection[str]) -> str:
    """Return the values of a label on some nodes, or the most similar key of a label if none has it."""
    values = Counter(nodes[name].metadata.labels[key] for name in names if key in nodes[name].metadata.labels)
    if values:
        if len(names) == 1:
            return f"its value there is {next(iter(values))}"
        rows = sorted(values.items(), key=lambda row: (-row[1], row[0]))[:_MOST_VALUES]
        named = [f"{value} on {counted_nodes(count)}" for value, count in rows]
        more = [f"{len(values) - _MOST_VALUES} other values"] if len(values) > _MOST_VALUES else []
        return f"its value is {listed([*named, *more])}"
    from difflib import get_close_matches

    keys = {label for name in names for label in nodes[name].metadata.labels}
    near = get_close_matches(key, keys, 1, 0.75)
    hint = f" (did you mean {near[0]}={_some_value(nodes, near[0], names)}?)" if near else ""
    return f"{'it has no' if len(names) == 1 else 'none of them has a'} label {key}{hint}"


def _some_value(nodes: Mapping[str, Node], key: str, names: Collection[str]) -> str:
    return next(value for name in sorted(names) if (value := nodes[name].metadata.labels.get(key)) is not None)


def counted_nodes(count: int) -> str:
    """Return `1 node` or `4 nodes`."""
    return "1 node" if count == 1 else f"{count:,} nodes"


def _affinity_test(nodes: Mapping[str, Node], required: object) -> NodeTest | None:
    try:
        selector = from_builtins(required, NodeSelector)
    except msgspec.ValidationError:
        return None
    passing = frozenset(name for name, node in nodes.items() if node_matches(selector, node))

    def why(others: frozenset[str]) -> str:
        terms = [_failing(nodes, term, others) for term in selector.node_selector_terms] or ["it has no term"]
        who = _nobody(others, nodes, "meets", "does not meet")
        return f"{who} its required node affinity: {'; or '.join(terms[:2])}"

    return NodeTest("its required node affinity", passing, why)


def _failing(nodes: Mapping[str, Node], term: NodeSelectorTerm, names: Collection[str]) -> str:
    """Return the requirement of a term that no node meets, with the values of its label."""
    left = set(names)
    for field, requirements in (("labels", term.match_expressions), ("fields", term.match_fields)):
        for one in requirements:
            alone = NodeSelector(
                node_selector_terms=(
                    NodeSelectorTerm(match_expressions=(one,))
                    if field == "labels"
                    else NodeSelectorTerm(match_fields=(one,)),
                )
            )
            now = {name for name in left if node_matches(alone, nodes[name])}
            if not now:
                values = {"In": f" ({', '.join(one.values)})", "NotIn": f" ({', '.join(one.values)})"}
                text = f"{one.key} {_OPERATORS.get(one.operator, one.operator)}"
                text += values.get(one.operator, " " + ", ".join(one.values) if one.values else "")
                return f"{text}, and {_label_values(nodes, one.key, left)}" if field == "labels" else text
            left = now
    return "a term without requirements matches no node"


# ---------------------------------------------------------------- taints


def _taint_tests(nodes: Mapping[str, Node], given: Sequence[Any], *, per_node: bool) -> Iterator[NodeTest]:
    tolerations = [t for t in given if isinstance(t, Mapping)]
    if per_node:
        tolerations.append({"operator": "Exists", "key": _UNSCHEDULABLE["key"]})
    closed = frozenset(
        name for name, node in nodes.items() if node.spec.unschedulable and not _any(tolerations, _UNSCHEDULABLE)
    )
    if closed:
        yield NodeTest("the cordon of other nodes", frozenset(nodes) - closed, lambda names: _cordoned(names, nodes))
    keeping = {name: _keeping_away(node, tolerations) for name, node in nodes.items()}
    if any(keeping.values()):
        passing = frozenset(name for name, taints in keeping.items() if not taints)
        yield NodeTest("its tolerations", passing, lambda names: _tainted(names, keeping))


def _cordoned(names: Collection[str], nodes: Mapping[str, Node]) -> str:
    which = "every node" if len(names) == len(nodes) > 1 else some(sorted(names))
    return f"{which} {'is' if len(names) == 1 or len(names) == len(nodes) else 'are'} cordoned"


def _tainted(names: Collection[str], keeping: Mapping[str, Sequence[str]]) -> str:
    counts = Counter(taint for name in names for taint in keeping[name])
    named = [
        taint if count == len(names) else f"{taint} on {counted_nodes(count)}"
        for taint, count in counts.most_common(_MOST_VALUES)
    ]
    which = "every node" if len(names) == len(keeping) > 1 else some(sorted(names))
    verb = "has" if len(names) == 1 or len(names) == len(keeping) else "have"
    return f"{which} {verb} a taint that it does not tolerate: {listed(named)}"


def _keeping_away(node: Node, tolerations: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{taint.get('key')}{'=' if taint.get('value') else ''}{taint.get('value') or ''}:{taint.get('effect')}"
        for taint in node.spec.taints
        if taint.get("effect") in _KEEPS_AWAY
        and not _any(tolerations, taint)
        # the API server taints a cordoned node too
        and not (node.spec.unschedulable and taint.get("key") == _UNSCHEDULABLE["key"])
    ]


def _any(tolerations: Sequence[Mapping[str, Any]], taint: Mapping[str, Any]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    # core/v1 Toleration.ToleratesTaint: an empty effect or key matches all, an empty operator is Equal
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# ---------------------------------------------------------------- CPUs, memory and the like


def _requested(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Return what a pod requests of its node, empty for a spec that the API server refuses."""
    typed = typed_spec(spec)
    try:
        return (
            {**pod_requests(Pod(metadata=ObjectMeta(), spec=typed)), "pods": Fraction(1)} if typed is not None else {}
        )
    except QuantityError:
        return {}


def allocatable(node: Node, resource: str) -> Fraction | None:
    """Return how much of a resource a node can allocate, None if the node does not say.

    An extended resource that it does not list is one that it does not have.
    """
    amounts = node.status.allocatable
    if not amounts or (resource not in amounts and not is_extended(resource)):
        return None
    try:
        return parse_quantity(amounts.get(resource, 0))
    except QuantityError:
        return None


def _amount_test(nodes: Mapping[str, Node], resource: str, amount: Fraction, used: Used) -> NodeTest:
    have = {name: allocatable(node, resource) for name, node in nodes.items()}
    left = {
        name: None if most is None else most - used.get(name, {}).get(resource, Fraction())
        for name, most in have.items()
    }
    passing = frozenset(name for name, most in left.items() if most is None or most >= amount)

    def why(names: frozenset[str]) -> str:
        return _too_little(resource, amount, nodes, {name: (have[name], left[name]) for name in names})

    return NodeTest(f"its request of {amount_words(resource, amount)}", passing, why)


def _too_little(
    resource: str,
    amount: Fraction,
    nodes: Mapping[str, Node],
    amounts: Mapping[str, tuple[Fraction | None, Fraction | None]],
) -> str:
    """Return why nodes have too little; `amounts` are what each can allocate and what is left of it."""
    asks = "it needs a place among the pods of a node" if resource == "pods" else ""
    asks = asks or f"it requests {amount_words(resource, amount)}"
    largest, (most, _) = max(sorted(amounts.items()), key=lambda row: row[1][0] or 0)
    if not most:
        return f"{asks}, and {_nobody(amounts, nodes, 'has any', 'has none')}"
    if most < amount:
        able = _nobody(amounts, nodes, "can allocate more than", "can allocate only")
        where = f" ({largest})" if len(amounts) > 1 else ""
        return f"{asks}, and {able} {amount_words(resource, most)}{where}"
    best, (whole, free) = max(sorted(amounts.items()), key=lambda row: row[1][1] or 0)
    whole, free = whole or Fraction(), max(free or Fraction(), Fraction())
    left = f"{_nobody(amounts, nodes, 'has more than', 'has only')} {amount_words(resource, free)} left"
    pods = f"its pods request {amount_words(resource, whole - free)} of {amount_words(resource, whole)}"
    return f"{asks}, and {left}: {f'on {best} ' if len(amounts) > 1 else ''}{pods}"


def amount_words(resource: str, amount: Fraction) -> str:
    """Return an amount in the unit of its resource: `4,000 CPUs`, `512Gi of memory`, `8 nvidia.com/gpu`."""
    if resource == "cpu":
        return f"{float(amount):,.6g} CPU{'' if amount == 1 else 's'}"
    if resource in ("memory", "ephemeral-storage"):
        return f"{_bytes(amount)} of {resource.replace('-', ' ')}"
    number = f"{amount.numerator:,}" if amount.denominator == 1 else format_quantity(amount)
    return f"{number} {'pod' if resource == 'pods' and amount == 1 else resource}"


def _bytes(amount: Fraction) -> str:
    """Return bytes in the largest binary unit, with at most one decimal place: `251.6Gi`."""
    exact = format_quantity(amount)
    if len(exact) <= _SHORT:
        return exact
    unit, size = next(((u, s) for u, s in _UNITS if amount >= s), ("", 1))
    return f"{float(amount / size):,.1f}{unit}"


_SHORT = 6
_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


# --------------------------------------------------------------------- nodes to which a pod may go


def admitted_nodes(cluster: Cluster, spec: Mapping[str, Any], *, per_node: bool = False) -> tuple[str, ...]:
    """Return the names of the nodes that a pod's spec admits, sorted.

    These are kube-scheduler's filters NodeName, NodeAffinity (`nodeSelector`, required `nodeAffinity`),
    NodeUnschedulable and TaintToleration, and what a node can allocate of CPUs, memory and the like; `per_node` adds
    the tolerations that a DaemonSet's pods get. Spreading and other filters are not looked at, nor what other pods
    request.
    Nodes of which only slices are known have no labels but their name's.
    """
    # Reading manifests takes a while, and a session needs `only_nodes` alone.
    from dra_lab.manifests.device_asks import is_extended
    from dra_lab.planner.node_tests import node_tests

    left = frozenset(cluster.node_names)
    # the controller of a DaemonSet makes a pod for a node that is too small, too
    counts = (lambda _: False) if per_node else (lambda name: not is_extended(name))
    for test in node_tests(cluster, spec, per_node=per_node, resource=counts):
        left &= test.passing
    return tuple(sorted(left))


def only_nodes(cluster: Cluster, names: Sequence[str], *, tolerant: bool = True) -> Cluster:
    """Return the cluster with the nodes that admit a pod alone; network-attached slices stay.

    If the pod's tolerations had a say (`tolerant`), a cordoned node that admits it is not cordoned there.
    """
    kept = frozenset(names)
    cluster = uncordoned(cluster, kept) if tolerant else cluster
    if len(kept) == len(cluster.node_names):
        return cluster
    return replace(
        cluster,
        nodes=tuple(node for node in cluster.nodes if node.name in kept),
        slices=tuple(s for s in cluster.slices if not s.spec.node_name or s.spec.node_name in kept),
    )

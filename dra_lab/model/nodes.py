"""Nodes and node selectors, as far as planning needs them, and what topology files say of a node's devices."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from dra_lab.model.quantity import whole_number


class NodeValue(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of the values of core/v1: frozen, camelCase in documents, defaults left out when written."""


DEFAULT_NAMESPACE = "default"


class ObjectMeta(NodeValue, frozen=True):
    """`metadata` of an object: the fields that reading, planning and writing need; `managedFields` are not kept."""

    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str = ""
    generation: int = 0
    owner_references: tuple[dict[str, object], ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_grace_period_seconds: int | None = None
    self_link: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return namespace and name; an object without a namespace is in `default`."""
        return self.namespace or DEFAULT_NAMESPACE, self.name

    @property
    def full_name(self) -> str:
        """Return `namespace/name`."""
        return "/".join(self.key)


class NodeSelectorRequirement(NodeValue, frozen=True):
    """`matchExpressions[]` or `matchFields[]`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(NodeValue, frozen=True):
    """One term: all requirements must hold; a term without requirements matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(NodeValue, frozen=True):
    """A node matches when one of the terms does."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeSystemInfo(NodeValue, frozen=True):
    """`status.nodeInfo`."""

    kubelet_version: str = ""


class NodeStatus(NodeValue, frozen=True):
    """`status` of a node: what planning needs of it."""

    node_info: NodeSystemInfo = NodeSystemInfo()
    allocatable: dict[str, str | int | float] = {}
    capacity: dict[str, str | int | float] = {}


class NodeSpec(NodeValue, frozen=True):
    """`spec` of a node: what planning needs of it."""

    unschedulable: bool = False
    taints: tuple[dict[str, object], ...] = ()


class Node(NodeValue, frozen=True):
    """A node: name, labels, kubelet version."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """Return `metadata.name`."""
        return self.metadata.name


def _requirement_holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            have = whole_number(value or "")
            limit = whole_number(requirement.values[0]) if requirement.values else None
            if have is None or limit is None:
                return False
            return have > limit if requirement.operator == "Gt" else have < limit
    return False


class LabelSelector(NodeValue, frozen=True):
    """A selector by labels: those that match, and expressions that hold; one without either matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels match."""
        own = all(labels.get(key) == value for key, value in self.match_labels.items())
        return own and all(_requirement_holds(one, labels) for one in self.match_expressions)


def node_matches(selector: NodeSelector, node: Node) -> bool:
    """Say whether a node matches a node selector (component-helpers `nodeaffinity`): terms are OR, requirements AND."""
    fields = {"metadata.name": node.name}
    return any(
        (term.match_expressions or term.match_fields)
        and all(_requirement_holds(r, node.metadata.labels) for r in term.match_expressions)
        and all(_requirement_holds(r, fields) for r in term.match_fields)
        for term in selector.node_selector_terms
    )


DeviceKey = tuple[str, str]
"""(driver, device name): devices of equal nodes differ in their pool only."""


class FilePlace(Struct, frozen=True):
    """The value of a level and where it comes from: `file: dgx.xml:36, Bridge 0000:[2b-3b]`."""

    value: str | int
    source: str


class FilePlaces(Struct, frozen=True, eq=False):
    """What a file says of a node's devices.

    `source` names the file; `places` has places by level, used where the driver publishes none; `made` says where each
    attribute of the made slices comes from, by its full name. Equal nodes share one: two are equal only if they are the
    same object.
    """

    source: str
    places: Mapping[DeviceKey, Mapping[str, FilePlace]] = field(default_factory=dict)
    made: Mapping[DeviceKey, Mapping[str, str]] = field(default_factory=dict)

"""Objects of Kueue that limit what workloads may use: ClusterQueue, LocalQueue, Cohort, Workload and Configuration.

Source: kubernetes-sigs/kueue v0.19.2 and ff69552e (0.20 in development), apis/kueue/v1beta2 and apis/config/v1beta2.
v1beta1, which 0.20 no longer serves, has the same fields here, except that a ClusterQueue names its Cohort in `cohort`
instead of `cohortName`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from dra_lab.model.claims import DeviceSelector
from dra_lab.model.nodes import LabelSelector, NodeValue, ObjectMeta
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.running import PodDisruptionBudget
from dra_lab.model.topologies import TOPOLOGY_KINDS, CustomValue, TopologyObject


def _amount(text: QuantityText, field: str) -> Fraction:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None


def _check_groups(groups: Iterable[ResourceGroup]) -> None:
    """Raise ValueError for a resource or flavor that is in two groups: it would be counted twice."""
    seen: set[str] = set()
    for group in groups:
        for name in (
            *(f"resource {one!r}" for one in group.covered_resources),
            *(f"flavor {one.name!r}" for one in group.flavors),
        ):
            if name in seen:
                raise ValueError(f"the {name} appears twice in resourceGroups; it may appear once")
            seen.add(name)


def _check_limits(groups: Iterable[ResourceGroup], field: str) -> None:
    for group in groups:
        for flavor in group.flavors:
            for one in flavor.resources:
                limit = "borrowingLimit" if one.borrowing_limit is not None else "lendingLimit"
                if one.borrowing_limit is not None or one.lending_limit is not None:
                    raise ValueError(f"{limit} of {one.name!r} needs {field}: without a Cohort nothing is lent")


class ResourceQuota(NodeValue, frozen=True, kw_only=True):
    """`resources[]` of a flavor: the quota of one resource, as quantities; a limit of None is no limit."""

    name: str
    nominal_quota: QuantityText
    borrowing_limit: QuantityText | None = None
    lending_limit: QuantityText | None = None

    def __post_init__(self) -> None:
        """Refuse what is no quantity or is negative."""
        named = {
            "nominalQuota": self.nominal_quota,
            "borrowingLimit": self.borrowing_limit,
            "lendingLimit": self.lending_limit,
        }
        for field, text in named.items():
            if text is not None and _amount(text, field) < 0:
                raise ValueError(f"{field} of {self.name!r} is {text}; it must be 0 or more")


class FlavorQuotas(NodeValue, frozen=True, kw_only=True):
    """`flavors[]`: the quotas of one ResourceFlavor."""

    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(NodeValue, frozen=True, kw_only=True):
    """`resourceGroups[]`: resources that a pod set gets from one flavor, and the flavors in their order."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a flavor with other resources than the group, as the API server does."""
        for flavor in self.flavors:
            if (names := tuple(one.name for one in flavor.resources)) != self.covered_resources:
                listed, wanted = ", ".join(names) or "none", ", ".join(self.covered_resources) or "none"
                raise ValueError(
                    f"the flavor {flavor.name!r} has the resources {listed}; it must have those of "
                    f"coveredResources in the same order: {wanted}"
                )


class WorkloadCondition(NodeValue, frozen=True, kw_only=True):
    """`status.conditions[]` without its message."""

    type: str
    status: str = ""
    reason: str = ""


class ResourceAmount(NodeValue, frozen=True, kw_only=True):
    """`resources[]` of a reservation: how much is in use."""

    name: str
    total: QuantityText = 0

    def __post_init__(self) -> None:
        """Refuse what is no quantity."""
        _amount(self.total, "total")


class FlavorAmounts(NodeValue, frozen=True, kw_only=True):
    """`flavorsReservation[]`: what is in use of one flavor."""

    name: str
    resources: tuple[ResourceAmount, ...] = ()


class Preemption(NodeValue, frozen=True, kw_only=True):
    """`spec.preemption`: whether Kueue may evict other workloads for a new one."""

    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"


class CheckRule(NodeValue, frozen=True, kw_only=True):
    """`spec.admissionChecksStrategy.admissionChecks[]`."""

    name: str


class ChecksStrategy(NodeValue, frozen=True, kw_only=True):
    """`spec.admissionChecksStrategy`."""

    admission_checks: tuple[CheckRule, ...] = ()


class ClusterQueueSpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: quota by flavor, and who may use it; without `namespace_selector` no namespace may."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    cohort: str = ""
    namespace_selector: LabelSelector | None = None
    stop_policy: str = "None"
    preemption: Preemption = Preemption()
    admission_checks: tuple[str, ...] = ()
    admission_checks_strategy: ChecksStrategy | None = None

    def __post_init__(self) -> None:
        """Refuse what the API server refuses."""
        _check_groups(self.resource_groups)
        if not (self.cohort_name or self.cohort):
            _check_limits(self.resource_groups, "cohortName")


class ClusterQueueStatus(NodeValue, frozen=True, kw_only=True):
    """`status`: what workloads hold of the quota (None: the object was never in a cluster), and how many wait."""

    flavors_reservation: tuple[FlavorAmounts, ...] | None = None
    pending_workloads: int = 0
    conditions: tuple[WorkloadCondition, ...] = ()


class ClusterQueue(CustomValue, frozen=True, kw_only=True):
    """A ClusterQueue: quota that workloads of several namespaces share."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()

    def __post_init__(self) -> None:
        """Refuse the Cohort in the field of the other version, which the API server would drop."""
        old = self.api_version.endswith("v1beta1")
        if self.api_version and (self.spec.cohort_name if old else self.spec.cohort):
            wrong, right = ("cohortName", "cohort") if old else ("cohort", "cohortName")
            raise ValueError(f"spec.{wrong} is not a field of {self.api_version}; write spec.{right}")

    @property
    def parent(self) -> str:
        """Return the name of its Cohort; "" without."""
        return self.spec.cohort_name or self.spec.cohort

    @property
    def checks(self) -> tuple[str, ...]:
        """Return the names of its AdmissionChecks."""
        strategy = self.spec.admission_checks_strategy
        return (*self.spec.admission_checks, *(one.name for one in (strategy.admission_checks if strategy else ())))


class CohortSpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: quota of its own to lend, and the Cohort above it."""

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what the API server refuses."""
        _check_groups(self.resource_groups)
        if not self.parent_name:
            _check_limits(self.resource_groups, "parentName")


class Cohort(CustomValue, frozen=True, kw_only=True):
    """A Cohort: ClusterQueues that lend quota to each other."""

    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: its ClusterQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class LocalQueue(CustomValue, frozen=True, kw_only=True):
    """A LocalQueue: the name that workloads of a namespace give."""

    spec: LocalQueueSpec = LocalQueueSpec()


class PodSetAssignment(NodeValue, frozen=True, kw_only=True):
    """`podSetAssignments[]`: the flavor and the amount of each resource."""

    name: str = ""
    flavors: dict[str, str] = {}
    resource_usage: dict[str, QuantityText] = {}

    def __post_init__(self) -> None:
        """Refuse what is no quantity."""
        for name, text in self.resource_usage.items():
            _amount(text, f"resourceUsage {name!r}")


class WorkloadAdmission(NodeValue, frozen=True, kw_only=True):
    """`status.admission`: the quota that a workload holds."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class WorkloadStatus(NodeValue, frozen=True, kw_only=True):
    """`status` of a Workload, as far as it holds quota."""

    admission: WorkloadAdmission | None = None
    conditions: tuple[WorkloadCondition, ...] = ()


class KueueWorkload(CustomValue, frozen=True, kw_only=True):
    """A Workload of Kueue: what it holds of a quota, without its pods."""

    status: WorkloadStatus = WorkloadStatus()

    @property
    def holds(self) -> WorkloadAdmission | None:
        """Return the quota that it holds now; None if it waits or has finished."""
        ended = any(one.type == "Finished" and one.status == "True" for one in self.status.conditions)
        return None if ended else self.status.admission


class CounterSource(NodeValue, frozen=True, kw_only=True):
    """`counter` or `capacity` of a source: what is counted of the devices of a driver."""

    name: str
    driver: str = ""
    device_selector: DeviceSelector | None = None


class DeviceClassSource(NodeValue, frozen=True, kw_only=True):
    """`sources[]` of a mapping: quota is counted in a counter or capacity, not in devices."""

    counter: CounterSource | None = None
    capacity: CounterSource | None = None


class DeviceClassMapping(NodeValue, frozen=True, kw_only=True):
    """`resources.deviceClassMappings[]`: the resource that counts the devices of some DeviceClasses."""

    name: str
    device_class_names: tuple[str, ...] = ()
    sources: tuple[DeviceClassSource, ...] = ()


class Transformation(NodeValue, frozen=True, kw_only=True):
    """`resources.transformations[]`: Kueue counts the resource `input` as others."""

    input: str


class KueueResources(NodeValue, frozen=True, kw_only=True):
    """`resources` of Kueue's Configuration."""

    device_class_mappings: tuple[DeviceClassMapping, ...] = ()
    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()


class Configuration(CustomValue, frozen=True, kw_only=True):
    """Kueue's Configuration, as far as it says what is counted; it is read when Kueue starts."""

    metadata: ObjectMeta = ObjectMeta(name="kueue")
    resources: KueueResources = KueueResources()
    feature_gates: dict[str, bool] = {}


KUEUE_VERSION = "Kueue 0.20"
"""The version that answers about Kueue assume; no object of a cluster has it."""

DEVICE_CHECK, DEVICE_TAINTS = "KueueDRADeviceFeasibility", "KueueDRAIntegrationDeviceTaints"
ALTERNATIVES = "KueueDRAIntegrationPrioritizedList"
NODE_LEAVES, SLICED_GROUPS = "TASNodeFeasibilityForAllLevels", "TASGroupedPodSetSlicing"
KUEUE_GATES: Mapping[str, bool] = MappingProxyType(
    {DEVICE_CHECK: False, DEVICE_TAINTS: False, ALTERNATIVES: False, NODE_LEAVES: True, SLICED_GROUPS: True}
)
"""The feature gates of this version on which an answer depends, with their defaults.

Source: kubernetes-sigs/kueue v0.20, dynamic_resource_allocation.md, and pull requests 14191 and 15111.
"""


QueueObject = ClusterQueue | LocalQueue | Cohort | KueueWorkload | Configuration | PodDisruptionBudget
"""What limits pods beside devices: quotas, and how many pods may be evicted."""

QUEUE_KINDS: Mapping[str, type[QueueObject]] = MappingProxyType(
    {
        "ClusterQueue": ClusterQueue,
        "LocalQueue": LocalQueue,
        "Cohort": Cohort,
        "Workload": KueueWorkload,
        "Configuration": Configuration,
        "PodDisruptionBudget": PodDisruptionBudget,
    }
)


def kueue_gate(queues: Iterable[QueueObject], gate: str) -> bool:
    """Say whether a gate of Kueue is on: as its Configuration says, else its default."""
    known = next((one for one in queues if isinstance(one, Configuration)), Configuration())
    return known.feature_gates.get(gate, KUEUE_GATES[gate])


def kueue_title(queues: Sequence[QueueObject], *gates: str) -> str:
    """Return the version of Kueue that an answer assumes, with gates: `Kueue 0.20 (KueueDRADeviceFeasibility off)`."""
    named = ", ".join(f"{gate} {'on' if kueue_gate(queues, gate) else 'off'}" for gate in gates)
    return f"{KUEUE_VERSION} ({named})" if named else KUEUE_VERSION


CustomObject = TopologyObject | QueueObject
CUSTOM_KINDS: Mapping[str, type[CustomObject]] = MappingProxyType({**TOPOLOGY_KINDS, **QUEUE_KINDS})

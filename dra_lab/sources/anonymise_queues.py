"""Queues of Kueue under pseudonyms: who lends to whom, and how much is in use, stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import structs

from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.queues import (
    ChecksStrategy,
    ClusterQueue,
    Cohort,
    Configuration,
    CounterSource,
    DeviceClassMapping,
    DeviceClassSource,
    KueueWorkload,
    LabelSelector,
    LocalQueue,
    QueueObject,
    ResourceGroup,
)
from dra_lab.sources.anonymise_cel import replace_in_cel
from dra_lab.sources.anonymise_devices import Replacing
from dra_lab.sources.anonymise_known import keeps_key

_NAMESPACE = "kubernetes.io/metadata.name"
"""The label of a namespace that has its name."""

_CORE = frozenset(("cpu", "memory", "pods", "ephemeral-storage"))
_DEVICES = "/devices"
"""What follows the name of a DeviceClass where dra-lab names the resource (`exports.gangs.kueue_objects`)."""

_V = TypeVar("_V")


def replace_queue(item: QueueObject, replacing: Replacing) -> QueueObject:
    """Return an object of Kueue under pseudonyms; names of resources stay where those of nodes do."""
    match item:
        case ClusterQueue():
            return _cluster_queue(item, replacing)
        case Cohort():
            spec = structs.replace(
                item.spec,
                parent_name=replacing.names.of("cohort", item.spec.parent_name),
                resource_groups=_groups(item.spec.resource_groups, replacing),
            )
            return structs.replace(item, metadata=_meta(item.metadata, "cohort", replacing), spec=spec)
        case LocalQueue():
            local = structs.replace(item.spec, cluster_queue=replacing.names.of("queue", item.spec.cluster_queue))
            return structs.replace(item, metadata=_meta(item.metadata, "localqueue", replacing), spec=local)
        case KueueWorkload():
            return _workload(item, replacing)
        case Configuration():
            return _configuration(item, replacing)


def _meta(meta: ObjectMeta, kind: str, replacing: Replacing) -> ObjectMeta:
    return ObjectMeta(
        name=replacing.names.of(kind, meta.name), namespace=replacing.names.of("namespace", meta.namespace)
    )


def _resource(name: str, replacing: Replacing) -> str:
    """Return the name of a resource with a quota: of those without a domain, only Kubernetes' own names stay."""
    if name in _CORE or name.startswith("hugepages-") or replacing.names.is_protected(name):
        return name
    own = name.removesuffix(_DEVICES)
    if own != name and replacing.names.is_protected(own):
        return name
    return replacing.resource(name) if "/" in name else replacing.names.of("resource", name)


def _cluster_queue(item: ClusterQueue, replacing: Replacing) -> ClusterQueue:
    names, spec, status = replacing.names, item.spec, item.status
    strategy = spec.admission_checks_strategy
    if strategy is not None:
        rules = tuple(structs.replace(one, name=names.of("check", one.name)) for one in strategy.admission_checks)
        strategy = ChecksStrategy(admission_checks=rules)
    spec = structs.replace(
        spec,
        resource_groups=_groups(spec.resource_groups, replacing),
        cohort_name=names.of("cohort", spec.cohort_name),
        cohort=names.of("cohort", spec.cohort),
        namespace_selector=spec.namespace_selector and _selector(spec.namespace_selector, replacing),
        admission_checks=tuple(names.of("check", one) for one in spec.admission_checks),
        admission_checks_strategy=strategy,
    )
    if status.flavors_reservation is not None:
        rows = tuple(
            structs.replace(
                flavor,
                name=names.of("flavor", flavor.name),
                resources=tuple(structs.replace(one, name=_resource(one.name, replacing)) for one in flavor.resources),
            )
            for flavor in status.flavors_reservation
        )
        status = structs.replace(status, flavors_reservation=rows)
    return structs.replace(item, metadata=_meta(item.metadata, "queue", replacing), spec=spec, status=status)


def _groups(groups: tuple[ResourceGroup, ...], replacing: Replacing) -> tuple[ResourceGroup, ...]:
    return tuple(
        structs.replace(
            group,
            covered_resources=tuple(_resource(name, replacing) for name in group.covered_resources),
            flavors=tuple(
                structs.replace(
                    flavor,
                    name=replacing.names.of("flavor", flavor.name),
                    resources=tuple(
                        structs.replace(one, name=_resource(one.name, replacing)) for one in flavor.resources
                    ),
                )
                for flavor in group.flavors
            ),
        )
        for group in groups
    )


def _selector(selector: LabelSelector, replacing: Replacing) -> LabelSelector:
    def value(key: str, text: str) -> str:
        return replacing.names.of("namespace", text) if key == _NAMESPACE else replacing.label_value(key, text)

    labels = {replacing.label_key(key): value(key, text) for key, text in selector.match_labels.items()}
    rules = tuple(
        structs.replace(
            one, key=replacing.label_key(one.key), values=tuple(value(one.key, text) for text in one.values)
        )
        for one in selector.match_expressions
    )
    return LabelSelector(match_labels=labels, match_expressions=rules)


def _workload(item: KueueWorkload, replacing: Replacing) -> KueueWorkload:
    admission = item.status.admission
    if admission is not None:
        sets = tuple(
            structs.replace(
                one,
                name=replacing.names.of("podset", one.name),
                flavors={
                    _resource(name, replacing): replacing.names.of("flavor", flavor)
                    for name, flavor in one.flavors.items()
                },
                resource_usage=_by_resource(one.resource_usage, replacing),
            )
            for one in admission.pod_set_assignments
        )
        queue = replacing.names.of("queue", admission.cluster_queue)
        admission = structs.replace(admission, cluster_queue=queue, pod_set_assignments=sets)
    status = structs.replace(item.status, admission=admission)
    return structs.replace(item, metadata=_meta(item.metadata, "workload", replacing), status=status)


def _by_resource(amounts: Mapping[str, _V], replacing: Replacing) -> dict[str, _V]:
    return {_resource(name, replacing): amount for name, amount in amounts.items()}


def _configuration(item: Configuration, replacing: Replacing) -> Configuration:
    resources = structs.replace(
        item.resources,
        device_class_mappings=tuple(_mapping(one, replacing) for one in item.resources.device_class_mappings),
        exclude_resource_prefixes=tuple(
            one for one in item.resources.exclude_resource_prefixes if keeps_key(f"{one}x")
        ),
        transformations=tuple(
            structs.replace(one, input=_resource(one.input, replacing)) for one in item.resources.transformations
        ),
    )
    return structs.replace(item, metadata=ObjectMeta(name="kueue"), resources=resources)


def _mapping(mapping: DeviceClassMapping, replacing: Replacing) -> DeviceClassMapping:
    sources = tuple(
        DeviceClassSource(
            counter=one.counter and _source(one.counter, replacing),
            capacity=one.capacity and _source(one.capacity, replacing),
        )
        for one in mapping.sources
    )
    return structs.replace(mapping, name=_resource(mapping.name, replacing), sources=sources)


def _source(source: CounterSource, replacing: Replacing) -> CounterSource:
    selector = source.device_selector
    if selector is None or selector.cel is None:
        return source
    cel = structs.replace(selector.cel, expression=replace_in_cel(selector.cel.expression, replacing.names.literal))
    return structs.replace(source, device_selector=structs.replace(selector, cel=cel))

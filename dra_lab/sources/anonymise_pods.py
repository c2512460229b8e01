"""Pods under pseudonyms: where they run, which claims they use, how their devices are."""

from __future__ import annotations

import msgspec
from msgspec import structs

from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import NodeSelector, ObjectMeta
from dra_lab.model.workloads import Container, ContainerStatus, Pod, ResourceHealth
from dra_lab.sources.anonymise_devices import Replacing
from dra_lab.sources.snapshots_kept import REQUIRED

ENTRY = "podclaim"
"""Kind of the names that a pod gives to its claims (`spec.resourceClaims[].name`)."""
CLAIM = "claim:"
_AMOUNTS = ("requests", "limits")
_KNOWN = ("", "default-scheduler", "volcano", "kai-scheduler")
"""Names of schedulers that many clusters have."""


def replace_pod(pod: Pod, replacing: Replacing) -> Pod:
    """Return a pod under pseudonyms; names of requests stay, as in claims."""
    names, spec, status = replacing.names, pod.spec, pod.status
    claims = tuple(
        structs.replace(
            entry,
            name=names.of(ENTRY, entry.name),
            resource_claim_name=entry.resource_claim_name and names.of("claim", entry.resource_claim_name),
            resource_claim_template_name=entry.resource_claim_template_name
            and names.of("template", entry.resource_claim_template_name),
        )
        for entry in spec.resource_claims
    )
    made = tuple(
        structs.replace(
            entry,
            name=names.of(ENTRY, entry.name),
            resource_claim_name=entry.resource_claim_name and names.of("claim", entry.resource_claim_name),
        )
        for entry in status.resource_claim_statuses
    )
    extended = status.extended_resource_claim_status
    if extended is not None:
        name = names.of("claim", extended.resource_claim_name)
        mappings = tuple({k: _mapped(k, v, replacing) for k, v in one.items()} for one in extended.request_mappings)
        extended = structs.replace(extended, resource_claim_name=name, request_mappings=mappings)
    return structs.replace(
        pod,
        metadata=ObjectMeta(
            name=names.of("pod", pod.metadata.name),
            namespace=names.of("namespace", pod.metadata.namespace),
            uid=names.of("uid", pod.metadata.uid.lower()),
        ),
        spec=structs.replace(
            spec,
            resource_claims=claims,
            node_name=names.of("node", spec.node_name),
            containers=_containers(spec.containers, replacing),
            init_containers=_containers(spec.init_containers, replacing),
            node_selector={
                replacing.label_key(key): replacing.label_value(key, str(value))
                for key, value in spec.node_selector.items()
            },
            affinity=_affinity(spec.affinity, replacing),
            tolerations=tuple(_toleration(one, replacing) for one in spec.tolerations),
            overhead=_amounts(spec.overhead, replacing),
            resources={key: _amounts(value, replacing) for key, value in spec.resources.items() if key in _AMOUNTS},
            scheduling_gates=tuple(
                {"name": replacing.label_key(str(one.get("name")))} for one in spec.scheduling_gates
            ),
            scheduler_name=spec.scheduler_name if spec.scheduler_name in _KNOWN else "another-scheduler",
        ),
        status=structs.replace(
            status,
            resource_claim_statuses=made,
            extended_resource_claim_status=extended,
            container_statuses=_statuses(status.container_statuses, replacing),
            init_container_statuses=_statuses(status.init_container_statuses, replacing),
        ),
    )


def _affinity(affinity: dict[str, object], replacing: Replacing) -> dict[str, object]:
    """Return an affinity under pseudonyms; one that is no node selector is left out."""
    own = affinity.get("nodeAffinity")
    found = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    try:
        selector = from_builtins(own[REQUIRED], NodeSelector) if isinstance(own, dict) else None
    except (msgspec.ValidationError, KeyError):
        return found
    hidden = replacing.node_selector(selector)
    return found if hidden is None else {**found, "nodeAffinity": {REQUIRED: msgspec.to_builtins(hidden)}}


def _toleration(one: dict[str, object], replacing: Replacing) -> dict[str, object]:
    key, value = str(one.get("key") or ""), str(one.get("value") or "")
    new = {**one, "key": replacing.label_key(key)} if key else {**one}
    return {**new, "value": replacing.label_value(key, value)} if value else new


def _amounts(amounts: object, replacing: Replacing) -> dict[str, object]:
    given = amounts if isinstance(amounts, dict) else {}
    return {replacing.resource(str(key)): value for key, value in given.items()}


def _mapped(key: str, value: str, replacing: Replacing) -> str:
    """Return an entry of an extended resource's mapping."""
    if key == "containerName":
        return replacing.names.of("container", value)
    return replacing.resource(value) if key == "resourceName" else value


def _containers(containers: tuple[Container, ...], replacing: Replacing) -> tuple[Container, ...]:
    names = replacing.names
    return tuple(
        structs.replace(
            one,
            name=names.of("container", one.name),
            resources=structs.replace(
                one.resources,
                claims=tuple(structs.replace(use, name=names.of(ENTRY, use.name)) for use in one.resources.claims),
                limits={replacing.resource(key): value for key, value in one.resources.limits.items()},
                requests={replacing.resource(key): value for key, value in one.resources.requests.items()},
            ),
        )
        for one in containers
    )


def _statuses(statuses: tuple[ContainerStatus, ...], replacing: Replacing) -> tuple[ContainerStatus, ...]:
    return tuple(
        structs.replace(
            status,
            name=replacing.names.of("container", status.name),
            allocated_resources_status=tuple(
                structs.replace(
                    one,
                    name=_resource_name(one.name, replacing),
                    resources=tuple(_health(entry, replacing) for entry in one.resources),
                )
                for one in status.allocated_resources_status
            ),
        )
        for status in statuses
    )


def _resource_name(name: str, replacing: Replacing) -> str:
    """Return the name of an allocatedResourcesStatus: `claim:NAME/REQUEST`, `claim:NAME`, or that of a resource."""
    if not name.startswith(CLAIM):
        return replacing.resource(name)
    entry, slash, request = name.removeprefix(CLAIM).partition("/")
    return f"{CLAIM}{replacing.names.of(ENTRY, entry)}{slash}{request}"


def _health(entry: ResourceHealth, replacing: Replacing) -> ResourceHealth:
    driver, _, rest = entry.resource_id.partition("/")
    pool, _, device = rest.rpartition("/")
    if driver in replacing.devices and pool:
        text = f"{driver}/{replacing.names.of('pool', pool)}/{replacing.device_name(driver, device)}"
        return structs.replace(entry, resource_id=text)
    return structs.replace(entry, resource_id=replacing.names.scrub(entry.resource_id))

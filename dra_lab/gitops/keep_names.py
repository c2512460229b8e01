"""From device plugins to DRA without a change to the workload: a DeviceClass serves its resource name (KEP-5004)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec.structs import replace

from dra_lab.drivers.device_plugins import PluginResource
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.migration import Migration, known_requests
from dra_lab.gitops.migration_findings import NOT_MIGRATED, what_changes_by_name, without_repeats
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.index.documented_classes import known_classes
from dra_lab.manifests.documents import encode
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.object_names import object_name


def keep_names(
    manifests: Manifests,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    device_classes: Mapping[str, str] | None = None,
) -> Migration:
    """Return the DeviceClasses that serve the resource names which workloads ask for; the workloads stay as they are.

    A class of the cluster that serves a name already is left alone. If the class exists and serves no name, it is
    returned with the name added. A resource that is narrower than its class (a MIG profile) gets its own class. Source:
    `extendedResourceName` of a DeviceClass (KEP-5004), docs/semantics.md 1.16.
    """
    findings: list[Finding] = []
    made: dict[str, DeviceClass] = {}
    workloads: list[str] = []
    served = {c.spec.extended_resource_name for c in cluster.classes}
    classes = dict(known_classes(cluster))
    for document in manifests.documents:
        for pod in pod_templates(document):
            requests = known_requests(pod, device_classes or {}, None, findings)
            for resource in {request.resource: known for request, known in requests}.values():
                if resource.resource in served:
                    continue
                serving = _class(resource, classes.get(resource.device_class))
                if serving is None:
                    what = (
                        f"no class serves {resource.resource}: the cluster has no DeviceClass {resource.device_class}"
                    )
                    advice = "Install the DRA driver with this class, or name another class with --map."
                    place = pod.document.at(pod.path)
                    findings.append(Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, what, advice, place))
                    continue
                made[serving.name] = classes[serving.name] = serving
                served.add(resource.resource)
            requests = [(request, known) for request, known in requests if request.resource in served]
            if requests:
                workloads.append(pod.subject)
                findings += what_changes_by_name(pod, [request for request, _ in requests], release)
    for name, item in made.items():
        if any(name == own.name for own in cluster.classes):
            added = f"extendedResourceName {item.spec.extended_resource_name}"
            message = f"the manifests add {added} to the class {name} of the cluster"
            advice = "The class is cluster-wide. Look for other owners (a Helm chart, an operator) first."
            findings.append(Finding("class-changed", Severity.WARNING, name, message, advice))
    texts = {f"deviceclass-{name}.yaml": dump_yaml(encode(item)) for name, item in made.items()}
    every = sort_findings((*manifests.findings, *without_repeats(findings)))
    return Migration(texts, every, tuple(dict.fromkeys(workloads)))


def _class(resource: PluginResource, base: DeviceClass | None) -> DeviceClass | None:
    """Return the class that serves a resource: `base` with its name, or one beside it; None if nothing is known."""
    own = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in resource.selectors)
    meta = ObjectMeta(name=resource.device_class, labels=dict(base.metadata.labels) if base else {})
    if own or (base is not None and base.spec.extended_resource_name not in (None, "", resource.resource)):
        meta = ObjectMeta(name=f"{object_name(resource.resource.rpartition('/')[2])}.{resource.device_class}")
    if base is not None:
        spec = replace(base.spec, selectors=(*base.spec.selectors, *own))
    elif own or resource.driver:
        driver = DeviceSelector(cel=CELDeviceSelector(expression=f"device.driver == {json.dumps(resource.driver)}"))
        spec = DeviceClassSpec(selectors=own or (driver,))
    else:
        return None
    return DeviceClass(metadata=meta, spec=replace(spec, extended_resource_name=resource.resource))

"""Small manifests as people write them: the texts of claims, templates, classes, pods and slices."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent

API = "resource.k8s.io/v1"


def manifest(kind: str, name: str, spec: str, api: str = API) -> str:
    """Write an object; `spec` is YAML in block style."""
    return f"---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{indent(spec, '  ')}"


def selector(expression: str) -> str:
    """Write the selectors of a request or class, of one expression without a double quote."""
    return f'selectors: [{{cel: {{expression: "{expression}"}}}}]'


def amount(capacity: str, value: str | int) -> str:
    """Write what a request asks of a capacity."""
    return f'capacity: {{requests: {{{capacity}: "{value}"}}}}'


def request(name: str, device_class: str, *fields: str) -> str:
    """Write a request for devices of a class; `fields` are others of its fields, such as `count: 2`."""
    return f"{{name: {name}, exactly: {{{', '.join((f'deviceClassName: {device_class}', *fields))}}}}}"


def same(attribute: str, *requests: str, word: str = "matchAttribute") -> str:
    """Write a constraint over requests, all of them if none is named."""
    over = f", requests: [{', '.join(requests)}]" if requests else ""
    return f"{{{word}: {attribute}{over}}}"


def claim(name: str, *requests: str, constraints: Iterable[str] = ()) -> str:
    """Write a ResourceClaim."""
    return manifest("ResourceClaim", name, _devices(requests, constraints))


def template(name: str, *requests: str, constraints: Iterable[str] = ()) -> str:
    """Write a ResourceClaimTemplate."""
    return manifest("ResourceClaimTemplate", name, "spec:\n" + indent(_devices(requests, constraints), "  "))


def _devices(requests: Iterable[str], constraints: Iterable[str]) -> str:
    text = "devices:\n  requests:\n" + _items(requests)
    rows = _items(constraints)
    return f"{text}  constraints:\n{rows}" if rows else text


def _items(items: Iterable[str]) -> str:
    return "".join(f"  - {item}\n" for item in items)


def device_class(name: str, expression: str) -> str:
    """Write a DeviceClass."""
    return manifest("DeviceClass", name, selector(expression) + "\n")


def pod(
    name: str, *claims: str, by: str = "resourceClaimTemplateName", more: Iterable[str] = (), limits: str = ""
) -> str:
    """Write a pod of one container with claims, each named as its template, or `by` resourceClaimName its claim.

    `more` are further lines of its spec, `limits` resources such as `nvidia.com/gpu: 1`.
    """
    return manifest("Pod", name, _pod_spec(claims, by, more, limits), "v1")


def workload(name: str, *claims: str, fields: Iterable[str] = (), limits: str = "") -> str:
    """Write a Deployment whose pods are those of `pod`; `fields` are lines beside its template."""
    pods = indent(_pod_spec(claims, "resourceClaimTemplateName", (), limits), "    ")
    above = "".join(f"{line}\n" for line in (*fields, f"selector: {{matchLabels: {{app: {name}}}}}"))
    template = f"template:\n  metadata: {{labels: {{app: {name}}}}}\n  spec:\n{pods}"
    return manifest("Deployment", name, above + template, "apps/v1")


def _pod_spec(claims: Iterable[str], by: str, more: Iterable[str], limits: str) -> str:
    named = ", ".join(f"{{name: {claim}, {by}: {claim}}}" for claim in claims)
    used = f"claims: [{', '.join(f'{{name: {claim}}}' for claim in claims)}]" if named else ""
    resources = ", ".join(part for part in (f"limits: {{{limits}}}" if limits else "", used) if part)
    container = "{name: main, image: example.com/main" + (f", resources: {{{resources}}}" if resources else "") + "}"
    lines = (*more, f"containers: [{container}]", *([f"resourceClaims: [{named}]"] if named else []))
    return "".join(f"{line}\n" for line in lines)


def device_slice(driver: str, *devices: str, node: str = "n1") -> str:
    """Write the one slice of a driver on a node."""
    pool = f"pool: {{name: {node}, generation: 1, resourceSliceCount: 1}}"
    spec = f"driver: {driver}\nnodeName: {node}\n{pool}\ndevices:\n"
    return manifest("ResourceSlice", f"{node}-{driver}", spec + "".join(f"- {device}\n" for device in devices))


def cpus(name: str, cores: int, *attributes: str) -> str:
    """Write a device of dra.cpu that many pods share, with attributes such as `dra.cpu/socketID: {int: 0}`."""
    capacity = f'{{dra.cpu/cpu: {{value: "{cores}"}}}}'
    shared = "allowMultipleAllocations: true"
    return f"{{name: {name}, {shared}, attributes: {{{', '.join(attributes)}}}, capacity: {capacity}}}"

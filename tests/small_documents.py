"""Small valid documents of `resource.k8s.io`, and changed copies of them."""

import copy

API = "resource.k8s.io/v1"

CLAIM = {
    "apiVersion": API,
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "n"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
}
TEMPLATE = {
    "apiVersion": API,
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "t", "namespace": "n"},
    "spec": {"spec": copy.deepcopy(CLAIM["spec"])},
}
CLASS = {
    "apiVersion": API,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}
SLICE = {
    "apiVersion": API,
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-1",
        "devices": [{"name": "d", "attributes": {"a": {"int": 1}}, "capacity": {"memory": {"value": "80Gi"}}}],
    },
}
TAINT_RULE = {
    "apiVersion": API,
    "kind": "DeviceTaintRule",
    "metadata": {"name": "r"},
    "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "k", "effect": "NoExecute"}},
}
REMOVED = object()


def changed(document, *changes):
    """A copy of a document with (path, value) set; steps are joined with dots, numbers index lists, `/` keeps a dot."""
    result = copy.deepcopy(document)
    for path, value in changes:
        *steps, last = [int(s) if s.isdigit() else s.replace("/", ".") for s in path.split(".")]
        target = result
        for step in steps:
            target = target[step] if isinstance(target, list) else target.setdefault(step, {})
        if value is REMOVED:
            del target[last]
        elif isinstance(target, list) and last == len(target):
            target.append(copy.deepcopy(value))
        else:
            target[last] = copy.deepcopy(value)
    return result


def claim(**exactly):
    """A claim whose only request has these fields as well."""
    return changed(CLAIM, *((f"spec.devices.requests.0.exactly.{name}", value) for name, value in exactly.items()))


def constraint(**fields):
    """A claim with one constraint."""
    return changed(CLAIM, ("spec.devices.constraints", [fields]))


def device(**fields):
    """A slice whose only device has these fields as well."""
    return changed(SLICE, *((f"spec.devices.0.{name}", value) for name, value in fields.items()))


def shared(policy, value="80Gi"):
    """A slice with one shareable device whose memory has a request policy."""
    return device(allowMultipleAllocations=True, capacity={"memory": {"value": value, "requestPolicy": policy}})


def slice_spec(**fields):
    """A slice with these fields in its spec."""
    return changed(SLICE, *((f"spec.{name}", value) for name, value in fields.items()))

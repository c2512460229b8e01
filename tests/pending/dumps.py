"""Small clusters as `kubectl get ... -A -o json` prints them, with pods that wait for devices."""

import json
from copy import deepcopy

GROUP = "resource.k8s.io"
AMD, CHIP = "gpu.amd.com", "chip.example.com"
"""Two drivers: GPUs with PCIe roots, and chips without places."""

_KINDS = {int: "int", bool: "bool", str: "string"}


def node(name, labels=None, taints=(), cordoned=False, **allocatable):
    amounts = {"cpu": "96", "memory": "512Gi", "pods": "110", **allocatable}
    spec = {"taints": list(taints)} if taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {**spec, "unschedulable": True} if cordoned else spec,
        "status": {"allocatable": amounts, "nodeInfo": {"kubeletVersion": "v1.36.2"}},
    }


def device(name, taints=(), capacity=None, **attributes):
    """Return a device; names of attributes with `__` are in the domain before it."""
    found = {"name": name, "attributes": {key: {_KINDS[type(value)]: value} for key, value in attributes.items()}}
    if capacity:
        found["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    return {**found, "taints": list(taints)} if taints else found


def devices_of(on, driver, devices, slices=1):
    """Return the ResourceSlice of a driver on a node, whose pool has a number of slices."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{on}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": on,
            "pool": {"name": on, "generation": 1, "resourceSliceCount": slices},
            "devices": devices,
        },
    }


def device_class(driver, **spec):
    """Return the DeviceClass of a driver, with its name."""
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": driver},
        "spec": {"selectors": [selector], **spec},
    }


def request(name="gpu", count=1, cls=AMD, cel=(), **fields):
    selectors = [{"cel": {"expression": one}} for one in ([cel] if isinstance(cel, str) else cel)]
    exactly = {"deviceClassName": cls, "allocationMode": "ExactCount", "count": count, **fields}
    if fields.get("allocationMode") == "All":
        del exactly["count"]
    return {"name": name, "exactly": {**exactly, "selectors": selectors} if selectors else exactly}


def spec_of(*requests, same=""):
    """Return the spec of a claim whose requests have the same value of an attribute, if one is given."""
    names = [one["name"] for one in requests]
    constraints = [{"requests": names, "matchAttribute": same}] if same else []
    return {"devices": {"requests": list(requests), **({"constraints": constraints} if constraints else {})}}


def template(name, spec, namespace="team-a"):
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{GROUP}/v1", "kind": "ResourceClaimTemplate", "metadata": meta, "spec": {"spec": spec}}


def claim(name, spec, namespace="team-a", *, on="", devices=(), driver=AMD, pods=(), owner=""):
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": f"uid-{owner}"}]
    status = {}
    if devices:
        results = [{"request": "gpu", "driver": driver, "pool": on, "device": one} for one in devices]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
        status = {
            "allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [term]}},
            "reservedFor": [{"resource": "pods", "name": one, "uid": f"uid-{one}"} for one in pods],
        }
    return {"apiVersion": f"{GROUP}/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec, "status": status}


def pod(name="train-7", namespace="team-a", *, claims=(), on="", phase="Pending", labels=None, resources=None, **spec):
    """Return a Pod; a claim is `template:NAME` or the name of a ResourceClaim."""
    entries, made = [], []
    for number, one in enumerate(claims):
        kind, _, own = one.rpartition(":")
        key = "resourceClaimTemplateName" if kind else "resourceClaimName"
        entries.append({"name": f"c{number}", key: own})
        if kind:
            made.append({"name": f"c{number}", "resourceClaimName": f"{name}-c{number}-x7k2p"})
    uses = {"claims": [{"name": one["name"]} for one in entries], **(resources or {})}
    fields = {"containers": [{"name": "main", "image": "x", "resources": uses}], **spec}
    if entries:
        fields["resourceClaims"] = entries
    if on:
        fields["nodeName"] = on
    status = {"phase": phase, **({"resourceClaimStatuses": made} if made else {})}
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": fields, "status": status}


def waiting(spec, name="train-7", **fields):
    made = claim(f"{name}-c0-x7k2p", spec, owner=name)
    return [pod(name, claims=("template:own",), **fields), template("own", spec), made]


def cluster(taints=(), gpu_taints=(), cordoned=False, slices=1):
    """Return two nodes with four AMD GPUs and two chips each, and their classes."""
    items = [device_class(AMD), device_class(CHIP)]
    for number, name in enumerate(("node-a", "node-b")):
        own = [
            device(
                f"gpu-{one}",
                gpu_taints,
                {"memory": "192Gi"},
                model="MI300X",
                vf=False,
                partitions=one % 2,
                **{"resource.kubernetes.io/pcieRoot": f"pci0000:{one:02x}"},
            )
            for one in range(4)
        ]
        chips = [device(f"chip-{one}", (), None, generation=3) for one in range(2)]
        items += [node(name, {"zone": f"z{number}"}, taints, cordoned)]
        items += [devices_of(name, AMD, own, slices), devices_of(name, CHIP, chips)]
    return items


def write(folder, items, version="v1"):
    items = [_older(one) if version == "v1beta1" else one for one in items]
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def _older(item):
    """Return an object of the group in the form of v1beta1."""
    if not item["apiVersion"].startswith(GROUP):
        return item
    item = {**deepcopy(item), "apiVersion": f"{GROUP}/v1beta1"}
    if item["kind"] == "ResourceSlice":
        item["spec"]["devices"] = [{"name": one.pop("name"), "basic": one} for one in item["spec"]["devices"]]
    spec = item["spec"].get("spec", item["spec"])
    for one in spec.get("devices", {}).get("requests") or [] if item["kind"].startswith("ResourceClaim") else ():
        one.update(one.pop("exactly", {}))
    return item

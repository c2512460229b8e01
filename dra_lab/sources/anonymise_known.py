"""Names of attributes and labels that stay: planning needs their values, and they do not identify a cluster."""

from __future__ import annotations

import re
from functools import lru_cache

from dra_lab.drivers import attributes_of_machines, attributes_read, profile

_KEPT = re.compile(
    r"""addressingmode|arch|architecture|brand|cachel3id|clocktype|computecapability|coreid|corescount|coretype
    |cpuid|cudacomputecapability|cudadriverversion|device|deviceid|devicetype|driver|driverversion
    |driverversionfull|encapsulation|eswitchmode|family|firmwareversion|generation|health|ifname|index
    |interfacename|kind|linkspeed|linktype|memorytype|migcapable|minor|mode|model|modelname|mtu|numanode
    |numanodeid|operatingmode|parentpciaddress|partitionprofile|pciaddress|pcibusid|pciebusid|pcieroot
    |pcidevice|pcisubsystem|pcivendor|pfdeviceid|pfname|pfpciaddress|product|productname|profile|rdma
    |rdmadevice|sku|smtenabled|socketid|speed|sriov|sriovvfs|state|subsystemdeviceid|subsystemvendorid|type
    |vendor|vendorid|virtual""",
    re.VERBOSE,
)
"""Identifiers of attributes whose values are models, places inside a machine, modes and versions, in lower case."""

_IDENTIFYING = re.compile(
    r"uuid|guid|serial|(^|[^a-z])mac|ipv?[46]?(address)?$|hostname|instanceid|nodename|assettag|project|account|tenant"
    r"|subscription|customer"
)

_PLACE = re.compile(r"(?:pci)?[0-9a-f]{4}:[0-9a-f]{2}(?::[0-9a-f]{2}\.[0-7])?", re.IGNORECASE)
_PLAIN = re.compile(r"(?:true|false|yes|no|on|off|v?\d{1,5}(?:\.\d{1,4}){0,2})?", re.IGNORECASE)

_DOMAINS = (
    "amazonaws.com", "amd.com", "azure.com", "cncf.io", "coreos.com", "coreweave.cloud", "coreweave.com",
    "dra.net", "gke.io", "google.com",
    "habana.ai", "intel.com", "k8s.aws", "k8s.io", "k8snetworkplumbingwg.io", "karpenter.sh", "kubernetes.io",
    "nvidia.com", "openshift.io", "oraclecloud.com", "project-hami.io", "provider.com", "run.ai", "topograph.run",
    "volcano.sh", "x-k8s.io",
)  # fmt: skip
"""Domains of label keys that many clusters have."""

_KEPT_LABELS = re.compile(
    r"""(beta\.)?kubernetes\.io/(arch|os)|(beta|node)\.kubernetes\.io/(instance-type|windows-build)
    |node-role\.kubernetes\.io/.*|feature\.node\.kubernetes\.io/.*|habana\.ai/.*
    |nvidia\.com/(?!gpu\.clique$|(mig|vgpu)\.config$)(gpu|cuda|mig|mps|vgpu|gfd)([.-].*)?|(beta\.)?amd\.com/gpu([.-].*)?|(gpu|qat)\.intel\.com/.*
    |cloud\.google\.com/gke-(accelerator|gpu).*|karpenter\.(sh|k8s\.aws)/(capacity-type|instance-.*)
    |k8s\.amazonaws\.com/accelerator|kubernetes\.azure\.com/accelerator""",
    re.VERBOSE,
)
_OWN = re.compile(
    r"""node-role\.kubernetes\.io/(?!(agent|compute|control-plane|edge|etcd|gpu|infra|ingress|master|node|storage|worker)$).*
    |feature\.node\.kubernetes\.io/(custom|local)-(?!rdma\.(available|capable)$).*""",
    re.VERBOSE,
)
"""Keys that people make up under a domain that many clusters have."""

_BUILT_IN = re.compile(r"(cpu|kernel|memory|network|pci|storage|system|usb)-.*")
"""Labels of Node Feature Discovery that it makes by itself, and not from rules that people write."""

_WORDS = re.compile(
    r"""accelerator|accelerators|account|aisle|amd|amdgpu|apps|arch|attributes|available|aws|azure|backend|bandwidth
    |batch|beta|block|build|capable|capacity|category|class|clique|cloud|cluster|compute|config|container
    |control|copy|core|cores|count|cpu|cpus|cu|cuda|datacenter|dcgm|decoder|deletion|deploy|device|devices
    |discovery|disk|disrupted|domain|domains|dra|driver|ebs|edge|encoder|encryption|engines|etcd|excluded
    |exporter|fabric|failure|family|feature|full|gaudi|generation|gpu|gpus|group|hall|hardware|host|hostname
    |hugepages|hypercluster|hypernode|hypervisor|infiniband|infra|ingress|instance|intel|island|jobset|karpenter
    |kernel|kueue|label|layer|leaderworkerset|leaf|leafgroup|links|local|machine|major|manager|manufacturer
    |master|memory|millicores|minor|mode|model|monitoring|multiprocessors|name|network|node|nodegroup|nodepool
    |nodes|nvidia|nvlink|nvme|operator|operators|out|partition|patch|pci|pending|plane|plugin|policy|pool
    |present|pressure|product|provider|queue|rack|rails|rdma|ready|region|release|replicas|resource|revision
    |role|room|row|runtime|scheduling|service|sharing|shutdown|simd|size|slices|spine|spot|state|status|storage
    |strategy|subblock|superpod|supported|switch|system|termination|tier|tiles|timestamp|toolkit|topology
    |transit|type|ultraserver|unavailable|unhealthy|uninitialized|unreachable|unschedulable|validator|vendor
    |version|vgpu|volcano|vram|windows|worker|workload|zone""",
    re.VERBOSE,
)
"""Words of the keys that many clusters have; a key with another word is one that people made up."""

_SHORT_WORD = re.compile(r"[a-z]{1,3}\d*|\d+[a-z]{0,3}|")

_HARMLESS = re.compile(
    r"""accelerator|cpu|dra|ethernet|fpga|gpu|hca|ib|infiniband|memory|mig|nic|npu|numa|nvlink|nvme|nvswitch|pcie|pf
    |rdma|roce|socket|sriov|ssd|tpu|vf|vfio|vgpu|ready|available|unknown|healthy|unhealthy""",
    re.VERBOSE,
)
"""Words that a value may be for any vendor: kinds of devices, and how they are."""

_LEVELS = re.compile(
    r"""accelerator|aisle|block|datacenter|domain|fabric|hall|island|leaf|nvlink|rack|region|room|row|spine|subblock
    |superpod|switch|tier|zone""",
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def keeps_attribute(driver: str, name: str) -> bool:
    """Say whether the values of an attribute stay: places in a machine, models, modes and versions."""
    identifier = name.rpartition("/")[2].lower()
    if _IDENTIFYING.search(identifier):
        return False
    domain = name.rpartition("/")[0] or driver
    if _KEPT.fullmatch(identifier) and (_is_known(domain) or profile(driver).known):
        return True
    return name in attributes_read(driver) or name in attributes_of_machines(driver)


@lru_cache(maxsize=4096)
def identifies(name: str) -> bool:
    """Say whether an attribute is an identifier of a device by its name (`uuid`, `serial`, `mac`)."""
    return _IDENTIFYING.search(name.rpartition("/")[2].lower()) is not None


def is_plain(value: str) -> bool:
    """Say whether a value tells nothing by itself: yes or no, a short number, a PCI address, a kind of device."""
    return any(form.fullmatch(value) for form in (_PLAIN, _PLACE)) or _HARMLESS.fullmatch(value.lower()) is not None


def keeps_label(key: str) -> bool:
    """Say whether the values of a node's label stay: architecture, kind of machine, models of accelerators."""
    return _KEPT_LABELS.fullmatch(key) is not None and keeps_key(key)


def keeps_key(key: str) -> bool:
    """Say whether the key of a label or taint stays: one that many clusters have, or the bare name of a level."""
    domain, slash, name = key.rpartition("/")
    if _OWN.fullmatch(key) is not None:
        return False
    if not slash:
        return _LEVELS.fullmatch(name) is not None
    if domain == "feature.node.kubernetes.io":
        return _BUILT_IN.fullmatch(name) is not None
    return _is_known(domain) and _is_usual(name)


def _is_known(domain: str) -> bool:
    """Say whether a domain is one that many clusters have, or one below it with usual words only."""
    found = (known for known in _DOMAINS if domain == known or domain.endswith(f".{known}"))
    known = next(found, None)
    return known is not None and _is_usual(domain.removesuffix(known))


def _is_usual(text: str) -> bool:
    words = re.split(r"[^a-z0-9]+", text.lower())
    return all(_WORDS.fullmatch(word) or _SHORT_WORD.fullmatch(word) for word in words)


def level_in(key: str) -> str:
    """Return the level that the name of an unknown key stands for (`rack`), or ""."""
    name = key.rpartition("/")[2].lower()
    return next((word for word in re.split(r"[^a-z]+", name) if _LEVELS.fullmatch(word)), "")

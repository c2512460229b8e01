"""What is known to be harmless: names, words and values that many clusters have, and shapes that tell nothing."""

from __future__ import annotations

import re
from functools import cache

from dra_lab.drivers import attributes_of_machines, attributes_read, known_drivers, profile

_ATTRIBUTES = re.compile(
    r"""addressingmode|architecture|brand|cachel3id|clocktype|computecapability|coreid|corescount|coretype|cpuid
    |cudacomputecapability|cudadriverversion|deviceid|devicetype|driver|driverversion|driverversionfull|encapsulation
    |eswitchmode|family|firmwareversion|generation|health|index|linkspeed|linktype|memorytype|migcapable|minor|mode
    |model|modelname|mtu|numanode|numanodeid|parentpciaddress|partitionprofile|pciaddress|pcibusid|pciebusid|pcieroot
    |pcidevice|pcisubsystem|pcivendor|pfdeviceid|pfpciaddress|product|productname|profile|rdma|sku|smtenabled|socketid
    |speed|sriov|sriovvfs|state|subsystemdeviceid|subsystemvendorid|type|vendor|vendorid|virtual""",
    re.VERBOSE,
)
"""Attributes whose values are models, modes, versions and places in a machine, in lower case."""

DOMAINS = frozenset((*known_drivers(), "resource.kubernetes.io", "k8s.cni.cncf.io"))

_KEYS = re.compile(
    r"""(accelerator\.topograph\.run/(sub-)?domain|fabric\.topograph\.run/tier-\d
    |(backend|ib)\.coreweave\.cloud/(fabric|leafgroup|superpod)|ds\.coreweave\.com/nvlink\.domain
    |node\.coreweave\.cloud/rack|cloud\.google\.com/gce-topology-(sub)?block|topology\.gke\.io/(cluster|rack)
    |cloud\.provider\.com/topology-(block|rack)|topology\.k8s\.aws/(network-node-layer-\d|ultraserver-id|zone-id)
    |(topology|failure-domain\.beta)\.kubernetes\.io/(block|rack|region|zone)|nvidia\.com/gpu\.clique
    |network\.topology\.nvidia\.com/(accelerator|block|core|datacenter|leaf|spine)|volcano\.sh/hyper(cluster|node)
    |volcano\.sh/tor|oci\.oraclecloud\.com/(host|rdma)\.(gpu_memory_fabric|hpc_island|(local|network)_block|rack)_id
    |kubernetes\.io/(hostname|metadata\.name)
    |node\.kubernetes\.io/(not-ready|unreachable|unschedulable|out-of-service|(disk|memory|pid)-pressure)
    |accelerator|aisle|block|datacenter|domain|fabric|hall|island|leaf|nvlink|rack|region|room|row|spine|subblock
    |superpod|switch|tier|zone)""",
    re.VERBOSE,
)
"""Keys of labels and taints that many clusters have; their values are replaced."""

_LABELS = re.compile(
    r"""((beta\.)?kubernetes\.io/(arch|os)|(beta|node)\.kubernetes\.io/instance-type
    |node-role\.kubernetes\.io/(agent|compute|control-plane|edge|etcd|gpu|infra|ingress|master|node|storage|worker)
    |feature\.node\.kubernetes\.io/(cpu-(cpuid|hardware|model|power|pstate|rdt|sst|security)|kernel-(config|version)
        |memory-(numa|nv|swap)|network-sriov|(pci|usb)-[0-9a-f_]+|storage-nonrotationaldisk|system-os_release)[\w.-]*
    |nvidia\.com/gpu(\.(product|count|memory|family|machine|mode|replicas|present|compute\.m(aj|in)or))?
    |nvidia\.com/gpu\.sharing-strategy
    |nvidia\.com/cuda\.(driver|runtime)(-version)?\.(major|minor|rev|revision|full)
    |nvidia\.com/mig-\d+g\.\d+gb(\.me)?|nvidia\.com/(mig\.(capable|strategy)|mps\.capable|vgpu\.present)
    |amd\.com/gpu(\.(device-id|family|product-name|vram|cu-count|simd-count))?|gpu\.intel\.com/(i915|xe|product|family|tiles|memory\.max)
    |habana\.ai/gaudi|google\.com/tpu|cloud\.google\.com/gke-(accelerator|gpu)(-count|-driver-version)?
    |karpenter\.sh/capacity-type|karpenter\.k8s\.aws/instance-(category|cpu|family|generation|memory|size)|k8s\.amazonaws\.com/accelerator)""",
    re.VERBOSE,
)
"""Keys of labels and names of resources that many clusters have, and whose values are models, numbers and modes."""

_WORDS = re.compile(
    r"""all|exactcount|noschedule|noexecute|prefernoschedule|none|in|notin|exists|doesnotexist|gt|lt|equal|node|hypernode
    |never|any|anylower|lowerpriority|lowerorneweepriority|hold|holdanddrain|pods|true|false|yes|no|on|off|unknown
    |ready|healthy|unhealthy|active|admitted|quotareserved|evicted|finished|pending|running|succeeded|failed
    |prepareresources|amd64|arm64|linux|windows|spot|on-demand|accelerator|available|cpu|dra|ethernet|fpga|gpu|hca|ib
    |infiniband|memory|mig|nic|npu|numa|nvlink|nvme|nvswitch|pcie|pf|rdma|roce|socket|sriov|ssd|tpu|vf|vfio|vgpu
    |channel|daemon""",
    re.VERBOSE,
)
"""Words of the API, and kinds of devices."""

_CORE = re.compile(r"cpu|memory|pods|ephemeral-storage|hugepages-\w+|attachable-volumes-[a-z-]+")
_SHORT = re.compile(r"v?\d{1,5}(\.\d{1,4}){0,2}|(pci)?[0-9a-f]{4}:[0-9a-f]{2}(:[0-9a-f]{2}\.[0-7])?|", re.IGNORECASE)
_QUANTITY = re.compile(r"[+-]?\d{1,20}(\.\d{1,9})?([eE][+-]?\d{1,2}|[KMGTPE]i?|[numk])?")
_RELEASED = re.compile(r"v?\d+(\.\d+){0,2}(-(alpha|beta|rc|dev)?[.\d]*)?")
_MACHINE = re.compile(
    r"""(pci-)?[0-9a-f]{4}-[0-9a-f]{2}-[0-9a-f]{2}-[0-7]
    |(?!.*\d-\d+-\d+-\d)(
        (gpu|mig|nic|pci|cpu|cpudev|cpudevnuma|numa|memory|mem|nvme|disk|net|eth|ib|mlx5|rdma|roce|vf|pf|vfio|tpu|npu|hami
        |accel|device|dev|card|cni|channel|daemon|core|socket|counters?|set|shared|me|\d{1,2}g\d{1,3}gb)?\d{0,4}(-(?=.)|$)
    )+""",
    re.VERBOSE,
)
"""Names of devices and counter sets that say where they are in a machine, and nothing else."""
_IDENTIFYING = re.compile(
    r"uuid|guid|serial|(^|[^a-z])mac|ipv?[46]|hostname|instanceid|nodename|assettag|project|account|tenant"
)
_IDENTIFIER = re.compile(
    r"([0-9a-f]{2}[:-]){5}|[0-9a-f]{4}(:[0-9a-f]{4}){3}|\d{1,3}([.-]\d{1,3}){3}(?!\d)|::|@"
    r"|(?=[a-f]*\d)(?<![0-9a-z])(0x)?[0-9a-f]{8}|enx",
    re.IGNORECASE,
)
"""Shapes of addresses, serial numbers and UUIDs; a value with one is replaced as a whole."""


def is_word(text: str) -> bool:
    """Say whether a text is a word of the API, a kind of device, a short number or a PCI address."""
    return _WORDS.fullmatch(text.lower()) is not None or _SHORT.fullmatch(text) is not None


def is_plain(text: str) -> bool:
    """Say whether a text is such a word, a quantity or a released version."""
    return is_word(text) or any(form.fullmatch(text) for form in (_QUANTITY, _RELEASED))


def is_released(version: str) -> bool:
    """Say whether a version has nothing that its builder added."""
    return _RELEASED.fullmatch(version) is not None


def in_machine(name: str) -> bool:
    """Say whether the name of a device or counter set says where it is in a machine, and nothing else."""
    return _MACHINE.fullmatch(name) is not None


def identifies(attribute: str) -> bool:
    """Say whether an attribute is an identifier by its name (`uuid`, `serial`, `mac`)."""
    return _IDENTIFYING.search(attribute.rpartition("/")[2].lower()) is not None


def holds_identifier(text: str) -> bool:
    """Say whether a text holds an address, a UUID or a serial number."""
    return _IDENTIFIER.search(text) is not None


@cache
def keeps_attribute(driver: str, name: str) -> bool:
    """Say whether the values of an attribute, by its full name, are models, modes, versions and places in a machine."""
    domain, _, identifier = name.rpartition("/")
    if domain in DOMAINS and _ATTRIBUTES.fullmatch(identifier.lower()):
        return True
    return name in attributes_read(profile(driver, {})) or name in attributes_of_machines(driver)


def keeps_label(key: str) -> bool:
    """Say whether the values of a label stay, and the name of a resource."""
    return _LABELS.fullmatch(key) is not None


def keeps_key(key: str) -> bool:
    """Say whether the key of a label or taint stays: one that many clusters have."""
    return _KEYS.fullmatch(key) is not None or keeps_label(key)


def is_core(resource: str) -> bool:
    """Say whether the name of a resource is one of Kubernetes' own."""
    return _CORE.fullmatch(resource) is not None


def level_in(key: str) -> str:
    """Return the level that the name of an unknown key stands for (`rack`), or ""."""
    words = re.split(r"[^a-z]+", key.rpartition("/")[2].lower())
    return next((word for word in words if word and _KEYS.fullmatch(word)), "")

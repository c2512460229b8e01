"""What is known to be harmless stays; each other text of a capture gets a pseudonym, in the order of the texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import structs

from dra_lab.drivers.kinds import attributes_of_machines, attributes_read
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import full_name

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


_BUILT = re.compile(r"(v?\d+\.\d+\.\d+[-+])(.+)", re.DOTALL)
"""A version with what its builder added."""

_LITERAL = re.compile(
    r"""//[^\n]*|(?<![\w"'])(?P<prefix>[rRbB]{0,2})(?P<quote>\"\"\"|'''|"|')(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)
    |(?<![\w.])(?P<number>\d{6,})(?![\w.])""",
    re.VERBOSE | re.DOTALL,
)


_MEMBERS = ("node", "pool", "host")
"""Kinds whose names mean one thing wherever they stand: the same text has the same pseudonym in all of them."""


class Pseudonyms:
    """The texts of one capture: first collected, then each given a pseudonym by `assign`."""

    def __init__(self, cluster: Cluster) -> None:
        """Begin to collect; names of drivers, classes and attributes stay."""
        self.seen: dict[str, set[str]] = defaultdict(set)
        self.kept: set[str] = set()
        self.tables: dict[str, dict[str, str]] = {}
        self.literals: dict[str, str] | None = None
        self.attributes: dict[tuple[str, str, Any], Any] = {}
        found = {*DOMAINS, *cluster.drivers, *cluster.class_by_name}
        found |= {str(c.spec.extended_resource_name) for c in cluster.classes if c.spec.extended_resource_name}
        for item in cluster.slices:
            for device in item.spec.devices or ():
                for key in (*device.attributes, *device.capacity):
                    domain, _, identifier = full_name(key, item.spec.driver).rpartition("/")
                    found.update((key, domain, identifier))
        self.protected = found
        self.devices = dict(_device_names(cluster))
        own = {*cluster.node_names, *(item.spec.pool.name for item in cluster.slices)}
        words = {form.lower() for name in own for form in (name, name.partition(".")[0], name.replace(".", "-"))}
        self.own = {word for word in words if len(word) > 4 and not word.isalpha()}  # "h100" is a model too
        self.tells: Callable[[str], bool] = cache(self._tells)

    def _tells(self, text: str) -> bool:
        """Say whether a text holds an identifier, or the name of a node or pool."""
        return holds_identifier(text) or any(name in text.lower() for name in self.own)

    def of(self, kind: str, text: str) -> str:
        """Return the pseudonym of a text of a kind; "" stays ""."""
        if not text:
            return text
        if self.literals is None:
            self.seen[kind].add(text)
            return text
        for table in (kind, *(_MEMBERS if kind in (*_MEMBERS, "value") else ())):
            if text in self.tables.get(table, ()):
                return self.tables[table][text]
        return text

    def stays(self, text: str) -> str:
        """Return a text that stays, and remember it for the literals of selectors."""
        self.kept.add(text)
        return text

    def device(self, driver: str, name: str) -> str:
        """Return the name of a device, also of one that no slice publishes any more."""
        table = self.devices.get(driver, {})
        return table[name] if name in table else name if in_machine(name) else self.of("value", name)

    def label(self, key: str) -> str:
        """Return the key of a label or taint; one that few clusters have keeps only the level that it names."""
        if keeps_key(key):
            return key
        new = self.of("label", key)
        return new if self.literals is None else f"{new}.example/{level_in(key) or 'key'}"

    def label_value(self, key: str, value: str) -> str:
        """Return the value of a label, taint or toleration."""
        if key.endswith("/hostname") or key == "kubernetes.io/metadata.name":
            return self.of("host" if key.endswith("hostname") else "namespace", value)
        if is_word(value) or (keeps_label(key) and not self.tells(value)):
            return self.stays(value)
        return self.of("value", value)

    def resource(self, name: str) -> str:
        """Return the name of a resource: those of classes stay, and those that many clusters have."""
        if name in self.protected or name.removesuffix("/devices") in self.protected:
            return name
        if is_core(name) or keeps_label(name):
            return name
        return self.label(name) if "/" in name else self.of("resource", name)

    def attribute(self, driver: str, key: str, value: Any) -> Any:
        """Return the value of an attribute, worked out once for equal ones."""
        found = self.attributes.get((driver, key, value))
        if found is None:
            found = self.attributes[driver, key, value] = self._attribute(driver, key, value)
        return found

    def _attribute(self, driver: str, key: str, value: Any) -> Any:
        named = identifies(key)
        known = not named and keeps_attribute(driver, full_name(key, driver))

        def one(part: Any) -> Any:
            if value.version is not None or value.versions is not None:
                return self.version(part)
            if not isinstance(part, str):
                hides = named and not isinstance(part, bool)
                return int(self.of("number", str(part))) if hides else part
            harmless = not named and (is_word(part) or (known and not self.tells(part)))
            return self.stays(part) if harmless else self.of("value", part)

        parts = ((f, getattr(value, f)) for f in value.__struct_fields__)
        new = {f: tuple(map(one, v)) if isinstance(v, tuple) else one(v) for f, v in parts if v is not None}
        return structs.replace(value, **new)

    def version(self, text: str) -> str:
        """Return a version; what a builder added behind its numbers is replaced."""
        found = _BUILT.fullmatch(text)
        if is_released(text) or found is None:
            return self.stays(text) if is_released(text) else self.of("value", text)
        return found[1] + self.of("added", found[2])

    def cel(self, expression: str) -> str:
        """Return a selector with its literals replaced and without its comments."""
        return _LITERAL.sub(self._literal, expression)

    def _literal(self, found: re.Match[str]) -> str:
        text = found["number"] or found["body"]
        if text is None:
            return ""
        if self.literals is None:
            self.seen["literal"].add(text)
            if _BUILT.fullmatch(text):
                self.version(text)
        else:
            text = self.literals[text]
        return text if found["number"] else f"{found['prefix']}{found['quote']}{text}{found['quote']}"

    def assign(self, cluster: Cluster) -> None:
        """Give every collected text its pseudonym; from now on the methods replace."""
        literals = self.seen.pop("literal", set())
        self.attributes.clear()
        self.tables = _member_names(self.seen, cluster)
        members = {text for kind in _MEMBERS for text in self.tables.get(kind, ())}
        rest = {kind: texts - members if kind == "value" else texts for kind, texts in self.seen.items()}
        self.tables |= {kind: _numbered(kind, texts) for kind, texts in rest.items() if kind not in _MEMBERS}
        gone = "\n".join(text for table in self.tables.values() for text in table).lower()
        stay = "\n".join((*self.kept, *self.protected)).lower()
        kinds = ("label", "condition", "uid", "number", "value", "host", "pool", "node")
        exact = {text: new for kind in kinds for text, new in self.tables.get(kind, {}).items()}
        harmless = {text for text in literals if self._is_harmless(text, gone, stay)}
        built = {text for text in literals if _BUILT.fullmatch(text) and not is_released(text)}
        parts = self.tables["part"] = _numbered("part", literals - harmless - built - exact.keys())
        self.literals = {}
        for text in literals:
            new = exact.get(text) or parts.get(text)
            self.literals[text] = new or (self.version(text) if text in built else text)

    def _is_harmless(self, text: str, gone: str, stay: str) -> bool:
        """Say whether a literal tells nothing: it is plain, or all its words are parts of what stays."""
        low = text.lower()
        if text in self.protected or text in self.kept or text.isdigit():
            return True
        if (len(text) > 3 and low in gone and low not in stay) or holds_identifier(text):
            return False
        return is_plain(text) or all(word in stay for word in re.findall(r"[^\W_]{3,}", low))

    def mapping(self) -> dict[str, dict[str, str]]:
        """Return the pseudonyms by kind and original."""
        pairs = ((driver, name, new) for driver, table in self.devices.items() for name, new in table.items())
        devices = {f"{driver}/{name}": new for driver, name, new in pairs if name != new}
        return {kind: table for kind, table in {**self.tables, "device": devices}.items() if table}


def _member_names(seen: Mapping[str, set[str]], cluster: Cluster) -> dict[str, dict[str, str]]:
    """Return pseudonyms of nodes, pools and hosts that sort as the names do wherever kube-scheduler sorts them."""
    nodes = seen.get("node", set())
    pools, hosts = seen.get("pool", set()) - nodes, seen.get("host", set()) - nodes - seen.get("pool", set())
    by_driver: dict[str, set[str]] = defaultdict(set)
    for item in cluster.slices:
        by_driver[item.spec.driver].add(item.spec.pool.name)
    if all(_nodes_first(names, nodes) for names in by_driver.values()):
        found = {"node": _numbered("node", nodes), "pool": _numbered("pool", pools)}
    else:  # pools named after nodes and others, mixed: one count for all keeps their order
        both = _numbered("name", nodes | pools)
        found = {"node": {n: both[n] for n in sorted(nodes)}, "pool": {n: both[n] for n in sorted(pools)}}
    return {**found, "host": _numbered("host", hosts)}


def _nodes_first(pools: set[str], nodes: set[str]) -> bool:
    named, others = pools & nodes, pools - nodes
    return not named or not others or max(map(str.encode, named)) < min(map(str.encode, others))


def _device_names(cluster: Cluster) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the new names of each driver's devices: their own where all are harmless, else numbers in their order."""
    names: dict[str, set[str]] = defaultdict(set)
    for item in cluster.slices:
        names[item.spec.driver].update(device.name for device in item.spec.devices or ())
    for driver, own in names.items():
        plain = all(map(in_machine, own))
        yield driver, {name: name for name in own} if plain else _numbered("device", own)


def _numbered(kind: str, texts: Collection[str]) -> dict[str, str]:
    ordered = sorted(texts, key=int) if kind == "number" else sorted(texts, key=str.encode)
    width = max(2, len(str(len(ordered))))
    form = {"uid": "00000000-0000-4000-8000-{0:012x}", "number": "{0}"}.get(kind, f"{kind}-{{0:0{width}d}}")
    return {text: form.format(number) for number, text in enumerate(ordered, 1)}

"""Topology files as inventories and clusters: a file by its content, `topo:FILE*8` by its name, a dropped text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dra_lab.errors import SourceError
from dra_lab.findings import Origin
from dra_lab.manifests.file_text import as_utf8, expanded, read_bytes
from dra_lab.model.cluster import Cluster
from dra_lab.sources.files import TOPOLOGY
from dra_lab.sources.foreign.hwloc import read_hwloc
from dra_lab.sources.foreign.inventory import MAX_BYTES, Inventory
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.nccl import read_nccl
from dra_lab.sources.foreign.nvidia_smi import looks_like_topo, read_topo
from dra_lab.sources.foreign.xml_text import XmlElement, parse_xml

XML_FORMATS: Mapping[str, tuple[str, Callable[[XmlElement, str], Inventory]]] = {
    "topology": ("XML of hwloc 2 and later (lstopo topology.xml)", read_hwloc),
    "system": ("the XML of NCCL or RCCL", read_nccl),
}
"""What writes a format in XML, in words, and its reader, by the name of the outermost element."""

_KNOWN = " or ".join(", ".join(("nvidia-smi topo -m", *(words for words, _ in XML_FORMATS.values()))).rsplit(", ", 1))


_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[?!a-zA-Z]")
_OTHER_TOOLS = re.compile(
    r"^[ \t]*(?:GPU 0/0\s|NPU0\s|Card0\s|modID +CPU Affinity|(?:ACCESS|WEIGHT|LINK TYPE) TABLE:|"
    r"=+ ROCm System|Machine \()",
    re.MULTILINE,
)
"""Lines of xpu-smi, npu-smi, cnmon, hl-smi, amd-smi, rocm-smi and lstopo: text about topology that is not read."""


def read_inventory(path: str | Path) -> Inventory:
    """Return the hardware of one server, as a file of `nvidia-smi topo -m`, hwloc XML or NCCL XML describes it.

    Raises SourceError with line and element for a file that is missing, too large, none of the formats, broken, or in
    contradiction with itself.
    """
    try:
        data = read_bytes(expanded(path), MAX_BYTES)
    except SourceError as error:
        # a name with a star is rarely a file's: it is the number of nodes, mistyped
        advice = "; write the number of nodes after *, for example *8" if "*" in Path(path).name else ""
        raise SourceError(f"{error.message}{advice}") from None
    return decode_inventory(data, str(path))


def decode_inventory(data: bytes, source: str) -> Inventory:
    """Return the inventory in the bytes of a file called `source`. Raises SourceError like `read_inventory`."""
    if len(data) > MAX_BYTES:
        raise SourceError(f"it has {len(data):,} bytes; the limit is {MAX_BYTES:,}", origin=Origin(source))
    plain = as_utf8(data)
    if _XML.match(plain):
        root = parse_xml(plain, source, None if plain is data else "utf-8")
        known = XML_FORMATS.get(root.tag)
        if known is None:
            what = f"the outermost element is <{root.tag[:40]}>; dra-lab reads {_KNOWN}"
            raise SourceError(what, origin=Origin(source, line=root.line))
        return known[1](root, source)
    text = plain.decode(errors="replace")
    if not looks_like_topo(text):
        raise SourceError(f"dra-lab does not read this topology format; it reads {_KNOWN}", origin=Origin(source))
    return read_topo(text, source)


def is_topology(data: bytes) -> bool:
    """Say whether the beginning of a file looks like a topology file and not like documents of Kubernetes."""
    plain = as_utf8(data[: 2**16], cut=True)
    text = plain.decode(errors="replace")
    return _XML.match(plain) is not None or looks_like_topo(text) or _OTHER_TOOLS.search(text) is not None


_LOOKED_AT = 2**16
_NOT_TOPOLOGY = (".json", ".yaml", ".yml", ".gz", ".tgz")
_COUNT = re.compile(r"(.*)\*(\d{1,5})(?:@(.*))?", re.ASCII)


def cluster_of_file(source: str | Path) -> Cluster | None:
    """Return the cluster made from `topo:...` or from a topology file, None where `source` is neither.

    Raises SourceError for a file that is none or broken, InputError for a count beyond the limit or a driver of which
    it is not known what it publishes.
    """
    text = str(source)
    if isinstance(source, str) and text.startswith(TOPOLOGY):
        file = text.removeprefix(TOPOLOGY)
        found = _COUNT.fullmatch(file)
        if found is None:
            return topology_cluster(file, name=text)
        drivers = tuple(part.strip() for part in (found[3] or "").split(",") if part.strip())
        return topology_cluster(found[1], int(found[2]), drivers, name=text)
    path = expanded(source)
    if not path.is_file() or path.suffix.lower() in _NOT_TOPOLOGY:
        return None
    try:
        with path.open("rb") as content:
            start = content.read(_LOOKED_AT)
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    return topology_cluster(str(path), name=text) if is_topology(start) else None


def topology_cluster(file: str, count: int = 1, drivers: Sequence[str] = (), *, name: str = "") -> Cluster:
    """Return `count` equal nodes made from the topology file of one server, with the slices of `drivers`.

    Without `drivers`, the slices are those of the vendors' drivers. The cluster has the name by which `load_cluster`
    reads it again. Raises like `cluster_of_file`.
    """
    if not file.strip():
        raise SourceError(f"{name!r} contains no file name; write {TOPOLOGY}FILE, or {TOPOLOGY}FILE*8 for 8 nodes")
    name = name or f"{TOPOLOGY}{file}*{count}" + (f"@{','.join(drivers)}" if drivers else "")
    return dataclasses.replace(make_cluster(read_inventory(file), count=count, drivers=drivers), name=name)


def cluster_of_texts(texts: Mapping[str, str | bytes]) -> Cluster | None:
    """Return the cluster of a dropped topology file, None where there is none.

    Raises SourceError where another file comes with it: one topology file is one kind of node, and a cluster by itself.
    """
    data = {name: text.encode() if isinstance(text, str) else text for name, text in texts.items()}
    topologies = [n for n, text in data.items() if not n.lower().endswith(_NOT_TOPOLOGY) and is_topology(text)]
    if not topologies:
        return None
    if len(texts) > 1:
        raise SourceError(f"{topologies[0]!r} is a topology file, which is a cluster by itself; load it alone")
    return make_cluster(decode_inventory(data[topologies[0]], topologies[0]))

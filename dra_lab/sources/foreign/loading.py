"""Topology files as clusters: a file by its content, `topo:FILE*8` by its name, a dropped text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import expanded
from dra_lab.model.cluster import Cluster
from dra_lab.sources.files import TOPOLOGY
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, is_topology, read_inventory

_LOOKED_AT = 2**16
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
    if not path.is_file() or path.suffix.lower() in (".json", ".yaml", ".yml", ".gz", ".tgz"):
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
    known = (".json", ".yaml", ".yml", ".gz", ".tgz")
    topologies = [name for name, text in data.items() if not name.lower().endswith(known) and is_topology(text)]
    if not topologies:
        return None
    if len(texts) > 1:
        raise SourceError(f"{topologies[0]!r} is a topology file, which is a cluster by itself; load it alone")
    return make_cluster(decode_inventory(data[topologies[0]], topologies[0]))

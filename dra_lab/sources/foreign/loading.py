"""Topology files as clusters: a file by its content, `topo:FILE,FILE*8` by its name, dropped texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import expanded
from dra_lab.model.cluster import Cluster
from dra_lab.sources.files import OVER, TOPOLOGY
from dra_lab.sources.foreign.inventory import Inventory
from dra_lab.sources.foreign.joining import join
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, is_topology, read_inventory
from dra_lab.sources.foreign.topology_overlay import with_overlay

_LOOKED_AT = 2**16
_COUNT = re.compile(r"(.*)\*(\d{1,5})(?:@(.*))?", re.ASCII)


def cluster_of_files(source: str | Path) -> Cluster | None:
    """Return the cluster made from `topo:...` or from a single topology file, None where `source` is neither.

    Raises SourceError for a file that is none or broken, InputError for a count beyond the limit or a driver of which
    it is not known what it publishes.
    """
    text = str(source)
    if isinstance(source, str) and text.startswith(TOPOLOGY):
        files = text.removeprefix(TOPOLOGY)
        found = _COUNT.fullmatch(files)
        count, drivers = (1, ()) if found is None else (int(found[2]), _listed(found[3] or ""))
        inventory = _of_paths(files if found is None else found[1], text)
        return dataclasses.replace(make_cluster(inventory, count=count, drivers=drivers), name=text)
    path = expanded(source)
    if not path.is_file() or path.suffix.lower() in (".json", ".yaml", ".yml", ".gz", ".tgz"):
        return None
    try:
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    if not is_topology(start):
        return None
    return dataclasses.replace(make_cluster(read_inventory(path)), name=text)


def laid_over(source: str, load: Callable[[str], Cluster]) -> Cluster:
    """Return the cluster of `CLUSTER+topo:FILE,FILE`, CLUSTER read by `load`.

    Raises SourceError or ManifestError like `load` and `read_inventory`, InputError where the files fit no node.
    """
    below, _, files = source.rpartition(OVER)
    return dataclasses.replace(with_overlay(load(below), _of_paths(files, source)), name=source)


def topology_cluster(files: Sequence[str], count: int = 1, drivers: Sequence[str] = ()) -> Cluster:
    """Return `count` identical nodes made from the topology files of one server, with the slices of `drivers`.

    Without `drivers`, the slices are those of the vendors' drivers. The cluster has the name by which `load_cluster`
    reads it again. Raises like `cluster_of_files`.
    """
    name = f"{TOPOLOGY}{','.join(files)}*{count}" + (f"@{','.join(drivers)}" if drivers else "")
    return dataclasses.replace(make_cluster(read_inventory(*files), count=count, drivers=drivers), name=name)


def overlaid(cluster: Cluster, files: Sequence[str]) -> Cluster:
    """Return a cluster with topology files laid over it, under the name by which it is read again. Raises like it."""
    name = f"{cluster.name}{OVER}{','.join(files)}"
    return dataclasses.replace(with_overlay(cluster, read_inventory(*files)), name=name)


def _of_paths(files: str, text: str) -> Inventory:
    paths = _listed(files)
    if not paths:
        raise SourceError(f"{text!r} contains no file name; write {TOPOLOGY}FILE, or {TOPOLOGY}FILE,FILE*8 for 8 nodes")
    return read_inventory(*paths)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def topologies_of(texts: Mapping[str, str | bytes]) -> Mapping[str, bytes]:
    """Return those of several dropped files that are topology files, by their names."""
    data = {name: text.encode() if isinstance(text, str) else text for name, text in texts.items()}
    known = (".json", ".yaml", ".yml", ".gz", ".tgz")
    return {name: text for name, text in data.items() if not name.lower().endswith(known) and is_topology(text)}


def cluster_of_texts(texts: Mapping[str, bytes], below: Cluster | None) -> Cluster:
    """Return the cluster made from dropped topology files, or `below` with them laid over it. Raises like both."""
    inventory = join([decode_inventory(text, name) for name, text in texts.items()])
    return make_cluster(inventory) if below is None else with_overlay(below, inventory)

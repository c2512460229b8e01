"""Clusters from where they are: samples, files and folders, standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.errors import InputError, SourceError
from dra_lab.manifests.documents import Documents, decode_documents
from dra_lab.manifests.file_text import STANDARD_INPUT, expanded, read_bytes, up_to
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import Profiles
from dra_lab.sources.files import (
    CHOICES,
    CONTEXT,
    MAX_FILE_BYTES,
    TOPOLOGY,
    assemble,
    folder_info,
    is_archive,
    merge,
    modified_at,
    read_archive_documents,
    read_documents,
)
from dra_lab.sources.samples import PREFIX, sample_path
from dra_lab.sources.snapshot_info import FILE as SNAPSHOT
from dra_lab.sources.snapshot_info import SnapshotInfo, decode_info

if TYPE_CHECKING:
    from dra_lab.sources.driver_profiles import GivenProfiles

_WEB = re.compile("https?:/", re.IGNORECASE)


def load_cluster(
    source: str | Path,
    *,
    namespaces: Sequence[str] = (),
    nodes: int | None = None,
    drivers: GivenProfiles | None = None,
) -> Cluster:
    """Return the cluster of `sample:NAME`, `context:NAME`, a file or pipe, a folder, its `.tar.gz`, or `-`.

    `-` is standard input; a pipe is what a shell makes of `<(kubectl get ... -o json)`. `context:` alone is the current
    context.

    A topology file (`nvidia-smi topo -m`, hwloc or NCCL XML) becomes a cluster of one node, which is marked as made
    from the file. `topo:FILE*8`, or `nodes=8`, makes 8 identical nodes. `topo:FILE*8@DRIVER,DRIVER` makes the slices of
    these drivers.

    Args:
        source: One of the texts above, or a path.
        namespaces: The namespaces whose claims and pods are read from a context; default: all.
        nodes: How many identical nodes a topology file makes; default None: one, or as many as `topo:FILE*8` says.
        drivers: Your own profiles of drivers, for this cluster only: a file, a profile as a mapping, or a list of them;
            default: what dra_lab knows, else a guess.

    Returns:
        The cluster. Its findings include what is wrong with single documents.

    Raises:
        InputError: A profile is wrong; the message has file, line and field. Or `nodes` is not for this source.
        SourceError: There is nothing to read, or it cannot be read.
        ManifestError: A single file is broken as a whole.

    Example:
        >>> from dra_lab import load_cluster
        >>> load_cluster("sample:two-sockets").node_names
        ('lab-1', 'lab-2')
    """
    if not str(source).strip():
        raise SourceError(f"CLUSTER is empty; give {CHOICES}")
    own = own_profiles(drivers)
    try:
        return _load(source if nodes is None else _copies(source, nodes), namespaces).with_profiles(own)
    except OSError as error:
        # a folder without rights, a name that is too long
        raise SourceError(f"{str(error.filename or source)!r} cannot be read: {error.strerror or error}") from None


def _copies(source: str | Path, nodes: int) -> str:
    """Return the source of a number of nodes of a topology file. Raises InputError for another source or number."""
    from dra_lab.sources.foreign.reading import cluster_of_file

    file = str(source).removeprefix(TOPOLOGY)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise InputError(f"nodes is a number of nodes, 1 or more, not {nodes!r}")
    if "*" in file or cluster_of_file(source) is None:
        raise InputError(f"nodes is for a topology file of one server, and {str(source)!r} is not one")
    return f"{TOPOLOGY}{file}*{nodes}"


def own_profiles(given: GivenProfiles | None) -> Profiles:
    """Return the profiles of files and values by driver. Raises InputError with the file, the line and the field."""
    if given is None:
        return {}
    # It needs the compiler of selectors, and importing that takes a while.
    from dra_lab.sources.driver_profiles import read_profiles

    return read_profiles(given)


def _load(source: str | Path, namespaces: Sequence[str]) -> Cluster:
    if isinstance(source, str) and source.startswith(PREFIX):
        return _sample(source)
    if isinstance(source, str) and source.startswith(CONTEXT):
        # Files do not need the client of running clusters, and importing it takes a while.
        from dra_lab.sources.live.reading import load_context

        return load_context(source.removeprefix(CONTEXT), namespaces=namespaces)
    if isinstance(source, str) and _WEB.match(source):
        raise SourceError(
            f"{source[:253]!r} is a web address, and dra-lab does not load clusters from the web; did you mean "
            "context:NAME "
            "for a running cluster, or a file that you saved from there?"
        )
    if str(source) == "-":
        text = up_to(sys.stdin.buffer, MAX_FILE_BYTES, STANDARD_INPUT)
        return assemble(decode_documents(text, STANDARD_INPUT), "standard input", read_at=_now())
    # Samples need no reader of topology files, and importing it takes a while.
    from dra_lab.sources.foreign.reading import cluster_of_file

    made = cluster_of_file(source)
    if made is not None:
        return made
    path = expanded(source)
    if path.is_fifo():
        return load_texts({str(source): read_bytes(path, MAX_FILE_BYTES, pipes=True)})
    if is_archive(path) and path.is_file():
        documents, info = read_archive_documents(str(path), path)
    else:
        documents, info = read_documents(path), folder_info(path)
    return assemble(documents, str(source), read_at=modified_at(path), info=info)


@cache
def _sample(source: str) -> Cluster:
    # The files of a sample never change, and a cluster never does.
    return assemble(read_documents(sample_path(source)), source)


def load_texts(texts: Mapping[str, str | bytes]) -> Cluster:
    """Return the cluster of several files by name, as dropped on the planner. Raises like `load_cluster`.

    They may be the files of a snapshot, or one as a `.tar.gz`. A topology file is a cluster by itself.
    """
    from dra_lab.sources.foreign.reading import cluster_of_texts

    made = cluster_of_texts(texts)
    if made is not None:
        return made
    parts: list[Documents] = []
    info: SnapshotInfo | None = None
    for name, text in texts.items():
        data = text.encode() if isinstance(text, str) else text
        if is_archive(name):
            documents, info = read_archive_documents(name, data)
            parts.append(documents)
        elif name == SNAPSHOT and (found := decode_info(data, name)) is not None:
            info = found
        else:
            parts.append(decode_documents(data, name))
    return assemble(merge(iter(parts)), ", ".join(texts), read_at=_now(), info=info)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")

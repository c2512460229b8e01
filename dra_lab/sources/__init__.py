"""Clusters from where they are: samples, files and folders, standard input."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from dra_lab.errors import SourceError
from dra_lab.manifests.documents import Documents, decode_documents
from dra_lab.model.cluster import Cluster
from dra_lab.sources.assemble import KUBECTL, assemble
from dra_lab.sources.drawings import read_claim, read_drawing, write_drawing, write_whole
from dra_lab.sources.files import merge, read_documents, read_standard_input
from dra_lab.sources.samples import PREFIX, Sample, example_path, sample_path, samples

__all__ = [
    "KUBECTL",
    "PREFIX",
    "Sample",
    "example_path",
    "load_cluster",
    "load_texts",
    "read_claim",
    "read_drawing",
    "sample_path",
    "samples",
    "write_drawing",
    "write_whole",
]


def load_cluster(source: str | Path) -> Cluster:
    """Return the cluster of `sample:NAME`, a file, a folder, or `-` for standard input.

    Raises SourceError when there is nothing to read and ManifestError when a single file is broken as a whole; what is
    wrong with single documents stands in the cluster's findings.
    """
    if isinstance(source, str) and source.startswith(PREFIX):
        return assemble(read_documents(sample_path(source)), source)
    if isinstance(source, str) and source.startswith("context:"):
        raise SourceError(f"{source}: live clusters are not read yet; save one with: {KUBECTL} > cluster.json")
    read_at = datetime.now().astimezone().isoformat(timespec="seconds")
    documents = read_standard_input() if str(source) == "-" else read_documents(Path(source).expanduser())
    return assemble(documents, "standard input" if str(source) == "-" else str(source), read_at=read_at)


def load_texts(texts: dict[str, str]) -> Cluster:
    """Return the cluster of several texts by file name, as dropped on the planner. Raises like `load_cluster`."""
    parts: list[Documents] = [decode_documents(text, name) for name, text in texts.items()]
    read_at = datetime.now().astimezone().isoformat(timespec="seconds")
    return assemble(merge(iter(parts)), ", ".join(texts), read_at=read_at)

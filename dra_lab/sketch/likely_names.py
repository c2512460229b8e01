"""Likely names: the class or attribute that a person probably means by an unknown name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from dra_lab.index.catalogue import catalogue
from dra_lab.index.documented_classes import known_classes
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import STANDARD_TOPOLOGY
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.palette import PaletteEntry, palette

_WORD = re.compile(r"[a-z]+[0-9]*[a-z0-9]*|[0-9]+[a-z]+")
_FILLERS = frozenset(("class", "com", "device", "devices", "dra", "driver", "io", "k8s", "resource", "the", "x"))
_SAME = {
    "gpus": "gpu",
    "nics": "nic",
    "network": "nic",
    "net": "nic",
    "ethernet": "nic",
    "roce": "rdma",
    "infiniband": "rdma",
    "ib": "rdma",
    "cpus": "cpu",
    "tpus": "tpu",
}
"""Words of articles that mean the same here."""

_RDMA = "rdma"
_SIMILAR, _CLEARLY = 0.88, 0.04
"""How similar a misspelt class must be, and by how much more than the next one (`difflib`)."""

_SHORT = {"numa": "numanode", "pciroot": "pcieroot", "pcie": "pcieroot", "pcibus": "pcibusid", "pciaddress": "pcibusid"}
"""Short names of articles for the standard attributes, in lower case without hyphens."""

_OWN_DOMAIN = re.compile(r"(^|\.)(k8s\.io|kubernetes\.io)\Z")


@dataclass(frozen=True, slots=True)
class LikelyClass:
    """The class that is probably meant, with the selectors that the wrong name stood for.

    `certain` says that the name can hardly be that of another class: it names a maker or technology and a device
    (`nvidia-gpu`, `rdma-nic`), or has a slip in the domain alone (`gpu.nvida.com`). A person may well have a class
    `gpu` or `vgpu.nvidia.com`.
    """

    device_class: str
    selectors: tuple[str, ...] = ()
    certain: bool = True

    def __str__(self) -> str:
        """Return it for a message."""
        return f"{self.device_class!r} with an RDMA selector" if self.selectors else repr(self.device_class)


def likely_class(name: str, cluster: Cluster, release: KubernetesRelease) -> LikelyClass | None:
    """Return the one class of the cluster's drivers that an unknown class name can mean, None for none or several.

    Every word of the name must be one of the class, its driver or its devices (`nvidia-gpu`, `rdma-nic`). What is more
    special than that is not meant: `gpu` is no MIG partition. Otherwise the one class that is spelt almost so.
    """
    words = _words(name)
    ranked = [
        (len(_words(entry.device_class) - words), _meant(entry, words))
        for entry in palette(cluster, release)
        if words and words <= _all_words(entry) and _special_words(entry) <= words
    ]
    least = min((rank for rank, _ in ranked), default=0)
    meant = {found for rank, found in ranked if rank == least}
    if meant:
        return replace(meant.pop(), certain=len(words) > 1) if len(meant) == 1 else None
    return _misspelt(name, cluster)


def likely_attribute(name: str, cluster: Cluster) -> str:
    """Return the one full attribute name that a name without its domain can mean, "" for none or several.

    A standard name (`resource.kubernetes.io/pcieRoot`) comes before the drivers' own names, unless the devices of the
    cluster publish only those. A domain is corrected only where it is one of Kubernetes (`k8s.io/pcieRoot`).
    """
    domain, slash, local = name.rpartition("/")
    wanted = _plain(local)
    published = {full for full in _published(cluster) if _plain(full.rpartition("/")[2]) == wanted}
    names = (full for level in STANDARD_TOPOLOGY.values() for full in level)
    standard = [full for full in names if _plain(full.rpartition("/")[2]) == wanted]
    if slash and (name in published or not _OWN_DOMAIN.search(domain)):
        return ""
    if standard and (standard[0] in published or not published or slash):
        return standard[0] if standard[0] != name else ""
    return published.pop() if len(published) == 1 else ""


def _misspelt(name: str, cluster: Cluster) -> LikelyClass | None:
    pairs = ((SequenceMatcher(None, name, known), known) for known in known_classes(cluster))
    # Names of very different length are never similar; letter by letter, one of a megabyte takes seconds.
    near = ((pair.ratio(), known) for pair, known in pairs if pair.real_quick_ratio() >= _SIMILAR - _CLEARLY)
    ranked = sorted(near, reverse=True)[:2]
    if not ranked or ranked[0][0] < _SIMILAR or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _CLEARLY):
        return None
    known = ranked[0][1]
    return LikelyClass(known, certain="." in name and name.partition(".")[0] == known.partition(".")[0])


def _meant(entry: PaletteEntry, words: frozenset[str]) -> LikelyClass:
    # a GPU is requested by its class alone; that a NIC speaks RDMA is in no class
    return LikelyClass(entry.device_class, entry.selectors if entry.kind == "nic" and _RDMA in words else ())


def _special_words(entry: PaletteEntry) -> frozenset[str]:
    return _words(entry.key.rpartition("/")[2]) - {entry.kind, "group", "vf"}


def _all_words(entry: PaletteEntry) -> frozenset[str]:
    return _words(f"{entry.key} {entry.device_class} {entry.driver} {entry.label} {entry.kind}")


def _words(text: str) -> frozenset[str]:
    return frozenset(_SAME.get(word, word) for word in _WORD.findall(text.lower())) - _FILLERS


def _plain(local: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", local.lower())
    return _SHORT.get(plain, plain)


def _published(cluster: Cluster) -> set[str]:
    return {
        name if "/" in name else f"{shape.driver}/{name}"
        for shape in catalogue(cluster).counts
        for name in shape.example.attributes
    }

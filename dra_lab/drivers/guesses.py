"""The kind of an unknown driver's devices, guessed from names: of the driver, of its classes, of its attributes.

A guess decides goals and pictures, never which devices match. A name is read word by word: `gpuModel` has the words gpu
and model, `magnet` has no word net.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WORDS: Mapping[str, tuple[str, ...]] = {
    "gpu": ("gpu", "npu", "tpu", "accelerator"),
    "nic": ("nic", "net", "rdma", "roce"),
    "cpu": ("cpu",),
    "memory": ("memory",),
    "other": ("fpga", "nvme", "ssd", "disk", "storage"),
}
"""The words that name a kind; those of "other" say that no further name is to be read."""

_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words}
_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TOP_LEVEL = ".net"
_NEAR = ({"gpu", "nic"}, {"cpu", "memory"}, {"other"})


def kind_of_name(name: str) -> str:
    """Return the kind that the first word with one gives to the name of a driver or a DeviceClass, "" for none.

    In `gpu.example.net` the top-level domain is no word.
    """
    return next(iter(_kinds(name.removesuffix(_TOP_LEVEL) if "." in name[:-1] else name)), "")


def kind_of_classes(names: Iterable[str]) -> str:
    """Return the kind on which the names of a driver's DeviceClasses agree, "" for none or several."""
    return _only({kind for name in names if (kind := kind_of_name(name))})


def kind_of_attributes(identifiers: Iterable[str]) -> str:
    """Return the kind on which the names of a driver's attributes agree, without their domains; "" for none or several.

    Words for CPUs and memory count only without those for accelerators and networks, which publish what is near them.
    """
    found = {kind for name in identifiers for kind in _kinds(name)}
    return next((_only(found & near) for near in _NEAR if found & near), "")


def _only(kinds: set[str]) -> str:
    return kinds.pop() if len(kinds) == 1 else ""


def _kinds(name: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(name))
    return [kind for word in words if (kind := _KIND_OF.get(word) or _KIND_OF.get(word.removesuffix("s")))]

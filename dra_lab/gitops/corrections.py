"""Corrections of manifests that have only one sensible reading: found, listed, written into the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dra_lab.drivers.profiles import documented_class
from dra_lab.errors import DraLabError, ManifestError
from dra_lab.exports.written_files import replace_text
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Document, Manifests, file_with_class, objects_of
from dra_lab.manifests.file_text import STANDARD_INPUT
from dra_lab.manifests.versions import EXACT_FIELDS, GROUP, text_of
from dra_lab.manifests.yaml_edits import Edit, EditableDocument, apply_edits
from dra_lab.manifests.yaml_text import load_yaml, value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import RESOURCE_V1
from dra_lab.model.driver_profile import STANDARD_TOPOLOGY, Profiles
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import is_known_class
from dra_lab.sketch.likely_names import LikelyClass, likely_attribute, likely_class
from dra_lab.sketch.palette import ask_for

_CLAIM_PATHS = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}
_FLAT = f"{GROUP}/v1beta1"
_UNDER_EXACTLY = (RESOURCE_V1, f"{GROUP}/v1beta2")
_MAX_ROUNDS = 8
_DOMAIN = re.compile(r"""(?:attributes|capacity)\[["']([^"']+)["']\]|device\.driver *== *["']([^"']+)["']""")
"""The domains of attributes and the drivers that a selector names."""

_STANDARD = frozenset(name for names in STANDARD_TOPOLOGY.values() for name in names)


@dataclass(frozen=True, slots=True)
class Correction:
    """One change of a file: `line` and `path` as they were before it, what was there, what is there now, and why.

    `about` are the paths of the messages that it answers, where they are not `path`. `advice` is what to do where the
    change has more than one sensible reading, so that only a person can make it.
    """

    source: str
    document: int
    object: str
    line: int
    path: str
    old: str
    new: str
    why: str
    about: tuple[str, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        """Return one line for a terminal."""
        place = ":".join(part for part in (self.source, str(self.line)) if part)
        return f"{place}: {self.object} {self.path}: {self.old} -> {self.new} ({self.why})"


Found = tuple[Correction, list[Edit]]


def corrected(
    text: str, source: str, cluster: Cluster, release: KubernetesRelease
) -> tuple[str, tuple[Correction, ...]]:
    """Return a text with every correction that has only one sensible reading, and the corrections in order.

    Comments, order and layout stay. A corrected text has nothing more to correct. `cluster` has the classes that are
    known, those among the manifests too.
    """
    done: list[Correction] = []
    lines = list(range(text.count("\n") + 2))
    for _ in range(_MAX_ROUNDS):
        taken: list[Edit] = []
        for correction, edits in _find(text, source, cluster, release):
            if edits and not any(one[0] <= other[1] and other[0] <= one[1] for one in edits for other in taken):
                taken += edits
                line = lines[correction.line] if correction.line < len(lines) else 0
                done.append(replace(correction, line=line))
        changed = apply_edits(text, taken)
        if changed == text or not _is_read(changed):
            break
        lines = _lines_after(text, taken, lines)
        text = changed
    return text, tuple(sorted(done, key=lambda one: (one.document, one.line)))


def correct_files(manifests: Manifests, cluster: Cluster, release: KubernetesRelease) -> tuple[Correction, ...]:
    """Write the corrected text of every file that needs one, and return the corrections; other files stay untouched.

    Each file is replaced as a whole, so that it is the old or the new one at any time. Raises ExportError where a file
    cannot be written or was changed meanwhile.
    """
    done: list[Correction] = []
    for name, text in manifests.texts.items():
        changed, found = corrected(text, name, cluster, release)
        if found and name != STANDARD_INPUT:
            replace_text(Path(name), text, changed)
            done += found
    return tuple(done)


def with_corrections(
    findings: list[Finding], manifests: Manifests, cluster: Cluster, release: KubernetesRelease
) -> list[Finding]:
    """Return findings with what was probably meant as their advice; one finding where a correction answers several."""
    answered: dict[tuple[str, int, str], Correction] = {}
    wrong = {f.origin.source for f in findings if f.severity is Severity.ERROR and f.origin is not None}
    for name in wrong & set(manifests.texts):
        for one, edits in _find(manifests.texts[name], name, cluster, release):
            if edits or one.advice:
                answered |= {(one.source, one.document, path): one for path in one.about or (one.path,)}
    corrected: dict[object, Finding] = {}
    for number, finding in enumerate(findings):
        place = finding.origin
        answer = answered.get((place.source, place.document, place.path)) if place is not None else None
        if answer is None:
            corrected[number] = finding
        else:
            advice = answer.advice or f"Did you mean {answer.new}? `check --fix` writes it."
            corrected.setdefault(answer, replace(finding, advice=advice))
    return list(corrected.values())


def _find(text: str, source: str, cluster: Cluster, release: KubernetesRelease) -> Iterator[Found]:
    try:
        for part in load_yaml(text, source, broken=lambda _: None):
            editable = EditableDocument(text, part)
            for document in objects_of(part, source):
                if root := _CLAIM_PATHS.get(document.kind):
                    yield from _Finder(document, editable, cluster, release).found(root)
    except ManifestError:
        return


@dataclass(frozen=True)
class _Finder:
    """Looks for what can be corrected in one object."""

    document: Document
    editable: EditableDocument
    cluster: Cluster
    release: KubernetesRelease

    def found(self, root: str) -> Iterator[Found]:
        """Yield the corrections with their edits; `root` leads to the spec of a claim."""
        version = text_of(self.document.value.get("apiVersion"))
        devices = _at(self.document.value, f"{root}.devices")
        requests = [(i, item) for i, item in enumerate(_items(devices, "requests")) if isinstance(item, Mapping)]
        if any("exactly" in item for _, item in requests) and version == _FLAT:
            about = [f"{root}.devices.requests[{index}].exactly" for index, item in requests if "exactly" in item]
            edits = self.editable.replaced(self._inside("apiVersion"), RESOURCE_V1)
            why = f"{version.rpartition('/')[2]} has no `exactly`"
            yield self._found("apiVersion", version, f"apiVersion: {RESOURCE_V1}", why, edits, about)
        every = [meant for _, item in requests for _, _, _, meant in self._unknown(item)]
        for index, item in requests:
            path = f"{root}.devices.requests[{index}]"
            flat = [name for name in EXACT_FIELDS if name in item]
            if flat and version in _UNDER_EXACTLY and "exactly" not in item and "firstAvailable" not in item:
                edits = self.editable.nested(self._inside(path), flat, "exactly")
                why = f"{version.rpartition('/')[2]} has these fields under `exactly`"
                about = [path, *(f"{path}.{name}" for name in flat)]
                yield self._found(path, ", ".join(flat), f"exactly: {{{', '.join(flat)}}}", why, edits, about)
            yield from self._classes(item, path, every)
        for index, item in enumerate(_items(devices, "constraints")):
            if isinstance(item, Mapping):
                yield from self._attribute(item, f"{root}.devices.constraints[{index}]", requests)

    def _unknown(self, request: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str, str, LikelyClass | None]]:
        """Yield (what is asked for, step to it, its class, the class that is meant) for each unknown class."""
        for part, step in _parts(request):
            name = part.get("deviceClassName")
            if isinstance(name, str) and not is_known_class(name, self.cluster):
                yield part, step, name, likely_class(name, self.cluster, self.release)

    def _other_reading(self, name: str, meant: LikelyClass, every: Sequence[LikelyClass | None]) -> str:
        """Return what to do where an unknown class may be one of a person's own, "" where it can hardly be one."""
        file = file_with_class(name, self.document.origin.source)
        if file:
            return f"{file} contains it; give that file as well."
        if _at(self.document.value, "status.allocation"):
            return "The claim is allocated, so the class exists in its cluster. Give the DeviceClass as well."
        if meant.certain and None not in every:
            return ""
        return f"Did you mean {meant}? If it is a class of your own, give the file of its DeviceClass as well."

    def _classes(self, request: Mapping[str, Any], path: str, every: Sequence[LikelyClass | None]) -> Iterator[Found]:
        for part, step, name, meant in self._unknown(request):
            where = path + step
            if meant is None or not _can_be(meant, part, self.cluster.profiles):
                continue
            why = "neither the cluster nor the documentation of a known driver has a class of this name"
            if advice := self._other_reading(name, meant, every):
                found, _ = self._found(f"{where}.deviceClassName", repr(name), str(meant), why, [])
                yield replace(found, advice=advice), []
                continue
            inside = self._inside(where)
            edits = self.editable.replaced(f"{inside}.deviceClassName", meant.device_class)
            wanted = [{"cel": {"expression": text}} for text in meant.selectors]
            if wanted and edits and "rdma" not in str(part.get("selectors", "")).lower():
                more = (
                    self.editable.appended(f"{inside}.selectors", wanted[0])
                    if isinstance(part.get("selectors"), list)
                    else self.editable.added(inside, "deviceClassName", "selectors", wanted)
                )
                edits = edits + more if more else []
            yield self._found(f"{where}.deviceClassName", repr(name), str(meant), why, edits)

    def _attribute(
        self, constraint: Mapping[str, Any], path: str, requests: list[tuple[int, Mapping[str, Any]]]
    ) -> Iterator[Found]:
        for key in ("matchAttribute", "distinctAttribute"):
            name = constraint.get(key)
            full = likely_attribute(name, self.cluster) if isinstance(name, str) else ""
            if not full or not (full in _STANDARD or self._published(full, constraint, requests)):
                continue
            edits = self.editable.replaced(self._inside(f"{path}.{key}"), full)
            why = "the API wants the attribute with its domain"
            yield self._found(f"{path}.{key}", repr(name), repr(full), why, edits)

    def _published(
        self, name: str, constraint: Mapping[str, Any], requests: list[tuple[int, Mapping[str, Any]]]
    ) -> bool:
        """Say whether devices of every constrained request publish an attribute of a driver's own domain."""
        wanted = constraint.get("requests") or [item.get("name") for _, item in requests]
        for _, item in requests:
            if item.get("name") not in wanted:
                continue
            for part, _ in _parts(item):
                if not self._class_publishes(part.get("deviceClassName"), name):
                    return False
        return True

    def _class_publishes(self, class_name: object, attribute: str) -> bool:
        driver, _, local = attribute.rpartition("/")
        if not isinstance(class_name, str):
            return False
        meant = likely_class(class_name, self.cluster, self.release)
        known = class_name if is_known_class(class_name, self.cluster) or meant is None else meant.device_class
        try:
            found = candidates(self.cluster, ask_for(known), self.release).in_class
        except DraLabError:
            return False
        return any(
            attribute in device.device.attributes or (device.id.driver == driver and local in device.device.attributes)
            for device in found
        )

    def _inside(self, path: str) -> str:
        return f"{self.document.inside}.{path}" if self.document.inside else path

    def _found(self, path: str, old: str, new: str, why: str, edits: list[Edit], about: Sequence[str] = ()) -> Found:
        place, line = self.document.at(""), self.document.line(path)
        return Correction(place.source, place.document, place.object, line, path, old, new, why, tuple(about)), edits


def _parts(request: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield (what is asked for, step to it): the flat form, `exactly`, and the alternatives."""
    if "deviceClassName" in request:
        yield request, ""
    if isinstance(request.get("exactly"), Mapping):
        yield request["exactly"], ".exactly"
    for index, item in enumerate(_items(request, "firstAvailable")):
        if isinstance(item, Mapping):
            yield item, f".firstAvailable[{index}]"


def _can_be(meant: LikelyClass, part: Mapping[str, Any], own: Profiles) -> bool:
    """Say whether what a request asks for is of the driver of a class: its selectors and capacities name no other."""
    found = documented_class(meant.device_class, own)
    if found is None:
        return True
    capacity = _at(part, "capacity.requests")
    named = {key.rpartition("/")[0] for key in capacity if isinstance(key, str)}
    named |= {domain for read in _DOMAIN.findall(str(part.get("selectors", ""))) for domain in read if domain}
    return all(domain in ("", found[0].driver) or domain.endswith("kubernetes.io") for domain in named)


def _at(value: Any, path: str) -> Mapping[str, Any]:
    found = value_at(value, path)
    return found if isinstance(found, Mapping) else {}


def _items(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _is_read(text: str) -> bool:
    try:
        return any(True for _ in load_yaml(text))
    except ManifestError:
        return False


def _lines_after(text: str, edits: list[Edit], lines: list[int]) -> list[int]:
    """Return, for each line after the edits, its number before the first of them."""
    for start, stop, new in sorted(edits, reverse=True):
        first = text.count("\n", 0, start) + 1
        last = first + text.count("\n", start, stop)
        lines = [*lines[:first], *[lines[first]] * (new.count("\n") + 1), *lines[last + 1 :]]
    return lines

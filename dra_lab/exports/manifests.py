"""Manifests of a drawing: a ResourceClaimTemplate or ResourceClaim, an example of its use, and missing classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import Struct, field, json, structs

from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import MARK, split_request
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks, claims_of
from dra_lab.pictures.letters import letters
from dra_lab.sketch.claim_objects import (
    KINDS,
    Affinity,
    Target,
    claim_object,
    example,
    labelled_class,
    plain,
    target_findings,
)
from dra_lab.sketch.compile import CompiledClaim, compile_claim, needed_classes
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.sketch.object_names import claim_objects, object_name

_UNTOLD = ("link-not-writable", "pairwise-counts")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\xa0\ufffe-\U0010ffff]")


class ManifestText(Struct, frozen=True):
    """YAML documents as one text.

    `lines` maps the name of a drawn request to the lines (from 1) of everything that was written for it. `marks` maps
    the first line of each written request to the request's letter. `findings` report what could not be written.
    """

    text: str
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    marks: Mapping[int, str] = field(default_factory=dict)


class ManifestFiles(Struct, frozen=True):
    """The documents by file name, the claims or templates among them, and what could not be written.

    `claim_files` are the files of `claims`, one each; `spans` are (file, drawn request, first line, last line).
    `not_expressed` is what the scheduler of a gang cannot express, a sentence each, and `workload` a person's own file.
    """

    texts: Mapping[str, str]
    claims: tuple[ResourceClaimTemplate | ResourceClaim, ...] = ()
    claim_files: tuple[str, ...] = ()
    spans: tuple[tuple[str, str, int, int], ...] = ()
    findings: tuple[Finding, ...] = ()
    not_expressed: tuple[str, ...] = ()
    workload: str = ""


def manifest_yaml(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    plan: Plan | None = None,
    namespace: str = "",
    api_version: str = "v1",
    kind: str = "template",
) -> ManifestText:
    """Return the manifests of a drawing as YAML: missing classes, the template or claim, an example pod.

    Fields are in the API's order with the server's defaults written out, and never a status. The requests have the
    letters of the canvas as comments. Nothing depends on time, machine or the state of the cluster, so the same drawing
    gives the same bytes. A plan adds its findings about what a manifest cannot express. The other arguments are those
    of `Target`, which raises InputError.
    """
    files = manifest_files(sketch, cluster, Target(release, api_version, kind, namespace), plan=plan)
    text, offset, begins = "", 0, {}
    for number, (name, document) in enumerate(files.texts.items()):
        separator = "---\n" if number else ""
        offset += 1 if number else 0
        begins[name] = offset
        text += separator + document
        offset += document.count("\n")
    lines: dict[str, list[int]] = {request.name: [] for request in sketch.requests}
    marks: dict[int, str] = {}
    for file, request, first, last in files.spans:
        lines[request] += range(begins[file] + first, begins[file] + last + 1)
        marks[begins[file] + first] = letters(sketch)[request]
    return ManifestText(text, {name: tuple(found) for name, found in lines.items()}, files.findings, marks)


def manifest_files(
    sketch: ClaimSketch,
    cluster: Cluster,
    target: Target,
    *,
    plan: Plan | None = None,
    example_kind: str = "pod",
    affinity: Affinity = (),
    name: str = "",
    objects: Sequence[str] = (),
    notes: tuple[str, ...] = (),
    replicas: int = 1,
    several: bool = False,
    by_spec: bool = False,
) -> ManifestFiles:
    """Return the manifests of a drawing by file name: classes that the cluster lacks, its claims, an example.

    `example_kind` is one of `claim_objects.EXAMPLES`, and `affinity` what its node must meet. `name` replaces the
    drawing's name, or `objects` the names of the claims. `notes` are further lines of the header. With `several`, the
    folder has manifests of others too, so that every file is called after its object. With `by_spec`, the name of a
    claim ends in a digest of its spec; its labels keep the name of the drawing, by which a later export knows what it
    replaces. Raises InputError.
    """
    texts: dict[str, str] = {}
    for device_class in needed_classes(sketch, cluster):
        texts[f"deviceclass-{device_class.name}.yaml"] = dump_yaml(plain(labelled_class(device_class), target))
    claims, files, spans, findings = [], [], [], []
    marks = letters(sketch)
    for part, own in zip(claims_of(sketch), objects or claim_objects(sketch, name), strict=True):
        mark = f"{part.name}{MARK}" if sketch.claims else ""
        drawn = {request.name: marks[f"{mark}{request.name}"] for request in part.requests}
        compiled = compile_claim(part, cluster, target.release)
        claim = claim_object(compiled, own, target)
        if by_spec:
            import hashlib  # a plan does not need it

            spec = claim.spec.spec if isinstance(claim, ResourceClaimTemplate) else claim.spec
            named = f"{claim.metadata.name[:54].rstrip('-')}-{hashlib.sha256(json.encode(spec)).hexdigest()[:8]}"
            claim = structs.replace(claim, metadata=structs.replace(claim.metadata, name=named))
        body, placed = _with_letters(drawn, compiled, dump_yaml(plain(claim, target)))
        head = _header(part, drawn, target, compiled, notes, sketch.name if mark else "")
        file = f"{KINDS[target.kind].lower()}{f'-{claim.metadata.name}' if mark or several else ''}.yaml"
        texts[file] = head + body
        shift = head.count("\n")
        spans += [(file, f"{mark}{request}", first + shift, last + shift) for request, first, last in placed]
        findings += [replace(one, subject=f"{mark}{one.subject}") if mark else one for one in compiled.findings]
        findings += target_findings(part, target)
        claims.append(claim)
        files.append(file)
    drawn_name = name or sketch.name
    if not (objects or by_spec) and object_name(drawn_name) != drawn_name:
        message = f"an object cannot have this name, so the manifests use {object_name(drawn_name)!r}"
        advice = "Use lower-case letters, digits and '-', at most 63."
        findings.append(Finding("name-changed", Severity.NOTE, drawn_name, message, advice))
    if example_kind != "none":
        own = object_name(name or sketch.name) if sketch.claims or several else ""
        shown = example(
            claims[0], example_kind, affinity, more=claims[1:], replicas=replicas, name=own, entries=sketch.claims
        )
        texts[f"{example_kind}{f'-{own}' if several else ''}.yaml"] = dump_yaml(shown)
    if plan is not None:
        findings += [finding for finding in plan.findings if finding.rule == "link-not-writable"]
    return ManifestFiles(texts, tuple(claims), tuple(files), tuple(spans), sort_findings(dict.fromkeys(findings)))


def _with_letters(
    marks: Mapping[str, str], compiled: CompiledClaim, text: str
) -> tuple[str, list[tuple[str, int, int]]]:
    """Put the drawing's letters beside the requests; return the text and (drawn request, first line, last line)."""
    lines, written = text.split("\n"), compiled.spec.devices.requests
    if not written:
        return text, []
    begin = next(at for at, line in enumerate(lines) if line.strip() == "requests:") + 1
    item = lines[begin].partition("-")[0] + "- "
    inside = (item, f"{item[:-2]}  ")
    end = next(
        (at for at in range(begin, len(lines)) if lines[at] and not lines[at].startswith(inside)), len(lines) - 1
    )
    starts = [at for at in range(begin, end) if lines[at].startswith(item)]
    spans = []
    for request, first, after in zip(written, starts, [*starts[1:], end], strict=True):
        drawn = split_request(compiled.origin[request.name])[0]
        lines[first] += f"  # {marks[drawn]}"
        spans.append((drawn, first + 1, after))
    return "\n".join(lines), spans


def _header(
    sketch: ClaimSketch,
    marks: Mapping[str, str],
    target: Target,
    compiled: CompiledClaim,
    notes: tuple[str, ...],
    pod: str,
) -> str:
    rows = [f"{f'{pod}, claim ' if pod else ''}{sketch.name}: for Kubernetes {target.release}, drawn with dra-lab."]
    for request in sketch.requests:
        ways = []
        for ask in asks(request):
            amount = "".join(f", {key} {value}" for key, value in ask.capacity.items())
            ways.append(f"{'all' if ask.all_devices else ask.count} of {ask.device_class_name}{amount}")
        rows.append(f"  {marks[request.name]}  {request.name}: {', else '.join(ways)}")
    for link in sketch.links:
        place, word = LEVEL_WORDS.get(link.where, link.where), "must" if link.must else "prefer"
        rows.append(f"  {' + '.join(link.requests)}, {place} ({word}): {link.kind.meaning}")
    rows += [f"  Not in this manifest: link {f.subject}" for f in compiled.findings if f.rule in _UNTOLD]
    if target.kind == "claim":
        rows.append("  Shared: every pod that names this claim gets the same devices, on one node.")
    rows += notes
    return "".join(f"# {_UNPRINTABLE.sub('?', row)}".rstrip() + "\n" for row in rows)

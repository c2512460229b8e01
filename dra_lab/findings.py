"""Findings: what dra_lab noticed about an input, a drawing or a plan, as values that can be listed and compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from dra_lab.printing import Shown

MAX_WORD, MAX_TEXT = 300, 4000
"""Longest word and longest text of a message, in characters; what is longer is shortened and says how long it is."""

_LONG_WORD = re.compile(rf"\S{{{MAX_WORD + 1},}}")


# fmt: off
Rule = Literal[
    "admin-access", "admin-namespace", "all-constraint", "alpha-gate", "amount-broken", "amount-not-read",
    "annotation-not-read", "api-refused", "api-undecodable", "api-version-old", "asked-twice", "attribute-missing",
    "binding-conditions", "capacity-too-small", "claim-allocated", "claim-not-given", "claim-not-let-go",
    "claim-not-planned", "claim-of-gone-pods", "claim-repeated", "claim-too-large", "claim-too-many-devices",
    "claim-unreserved", "claims-as-one-pod", "claims-missing", "claims-one-namespace", "claims-some-namespaces",
    "claims-split", "class-changed", "class-matches-nothing", "class-missing", "class-no-longer-selects",
    "class-not-in-cluster", "class-not-there", "class-stale", "class-twice", "class-unknown", "classes-missing",
    "compute-domain-clique", "compute-domain-drawn", "compute-domain-node", "constraint-broken", "container-chosen",
    "container-claim-unknown", "container-request-unknown", "count-broken", "count-may-share", "counter-overdrawn",
    "daemonset-not-everywhere", "device-ambiguous", "device-held-twice", "device-not-shared", "device-tainted",
    "device-unhealthy", "device-vanished", "devices-disagree", "distinct-defect", "document-broken", "does-not-fit",
    "domain-name-hashed", "domain-name-long", "domain-name-reused", "domain-one-node", "domain-sizes-differ",
    "dra-not-served", "export-edited", "export-never-starts", "export-not-as-planned", "export-not-placed",
    "export-not-simulated", "export-other-cluster", "file-broken", "first-fit-breaks-link", "first-fit-fails",
    "fit-not-decided", "flavor-hides-nodes", "gang-example-pods", "gang-exclusive", "gang-level-lost", "gang-minimum",
    "gang-not-pinned", "gang-not-replayed", "gang-pods-missing", "gang-prefer-level", "gang-queue-unknown",
    "gang-quota", "gang-requests-unknown", "gang-soft", "gang-subgroup-level", "gang-without-devices", "gate-off",
    "hyper-node-cycle", "hyper-node-member", "hyper-node-overlap", "hyper-node-parents", "hyper-node-tier",
    "hyper-nodes-of-new-nodes", "kai-alternatives", "kai-devices-not-counted", "kai-not-preempted",
    "kai-queue-missing", "kai-shared-claim", "kept-off-nodes", "key-repeated", "kind-ignored", "kind-not-read",
    "kueue-all-devices", "kueue-alternatives", "kueue-class-mapping", "kueue-devices-not-counted",
    "kueue-key-too-long", "kueue-queue-missing", "kueue-selector-fails", "kueue-shared-claim", "kustomize-names",
    "level-equals-parent", "level-key-long", "level-order", "link-not-writable", "list-attributes",
    "made-as-documented", "made-from-file", "made-left-out", "made-management-nic", "made-root-names", "made-vendor",
    "made-without-cpus", "manifest-gives-up", "manifest-not-allocated", "manifest-not-replayed", "manifest-slow",
    "manifest-twice", "manifest-undecided", "migrate-both-on", "migrate-choice", "migrate-init-container",
    "migrate-no-alignment", "migrate-node-label", "migrate-quota", "migrate-quota-both", "migrate-release",
    "migrate-template", "name-changed", "namespace-empty", "nics-without-rdma", "no-node-admitted", "node-vanished",
    "nodes-cordoned", "nodes-left-out", "nodes-not-ready", "nodes-tainted", "not-checked", "not-examined",
    "not-on-new-nodes", "not-pinned", "not-placed-yet", "nothing-to-check", "numa-made", "object-twice",
    "one-replica-planned", "pairwise-counts", "pinned", "place-unknown", "plugin-beside-claim", "pod-claim-source",
    "pod-claim-twice", "pod-claim-unused", "pod-group-claims", "pod-group-claims-gate", "pod-group-gang-gate",
    "pod-group-gate", "pod-group-minimum", "pod-group-priority", "pod-group-same-value", "pod-group-topology-gate",
    "pod-group-upgrade", "pod-group-version", "pod-pins-not-written", "pool-incomplete", "pool-invalid", "pool-stale",
    "pool-unusable", "pool-vanished", "preference-order", "preferences-left-out", "proof-withdrawn",
    "provisioning-request-claims", "provisioning-request-not-proven", "provisioning-request-pods",
    "release-admin-access", "release-capacity", "release-derived-attributes", "release-first-available",
    "release-tolerations", "replay", "replicas-do-not-fit", "replicas-unplaced", "request-no-longer-selects",
    "resource-from-plugin", "resource-not-migrated", "resource-not-planned", "right-missing", "room-not-found",
    "root-not-known", "scheduler-annotation", "scheduler-annotation-alpha", "scheduler-annotation-value",
    "scheduler-field-other", "scheduler-field-unknown", "scheduler-version-old", "selector-changed", "selector-fails",
    "selector-matches-nothing", "selector-release", "selector-run-time-error", "selectors-not-compared",
    "server-not-verified", "shared-claim", "snapshot-anonymised", "snapshot-incomplete", "snapshot-old",
    "taint-not-tolerated", "taint-rules-ignored", "template-not-rendered", "templates-chosen", "tied-pods-do-not-fit",
    "too-many-devices", "topology-contradiction", "topology-cpus-cut", "topology-hidden-by-nvlink",
    "topology-invented-switches", "topology-nic-without-net", "topology-nodes-missing", "topology-numbers-missing",
    "topology-repeated-bridge", "topology-several-numa-nodes", "topology-unknown-object", "topology-without-bridges",
    "topology-without-devices", "unknown-field", "upgrade-changes", "version-old", "version-unknown",
    "volcano-alternatives", "volcano-dra", "volcano-minimum", "volcano-plugin", "volcano-queue",
    "volcano-shared-claim", "volcano-tiers", "workloads-do-not-fit-together",
]
# fmt: on
"""The rules of findings; `words/rules` has the cause and the remedy of each."""


class Severity(StrEnum):
    """How much a finding matters: an `error` makes an answer wrong or impossible, a `warning` may, a `note` informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def shortened(text: str) -> str:
    """Return a text for people: of words and texts that are too long, the beginning and the number of characters."""
    if len(text) <= MAX_WORD:
        return text
    text = _LONG_WORD.sub(lambda word: f"{word[0][:80]}... ({len(word[0]):,} characters)", text)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]}... ({len(text):,} characters)"


_WORD = re.compile(r"[a-z]+[,:]?(?= |$)")


def sentence_case(text: str) -> str:
    """Return a text that begins with a capital letter, or with a name (`node-1`, `kube-scheduler`) as it is."""
    return f"{text[0].upper()}{text[1:]}" if _WORD.match(text) else text


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document came from: source (file, URL, sample), number of the document in it (from 1), object, line."""

    source: str = ""
    document: int = 0
    object: str = ""
    path: str = ""
    line: int = 0

    @property
    def key(self) -> tuple[str, int, str]:
        """Return the object that it is a place of: source, number of the document, name."""
        return self.source, self.document, self.object

    def __str__(self) -> str:
        """Return `file, document 2, ResourceSlice/a, spec.devices[0].name`, leaving out what is unknown."""
        place = f"{self.source}:{self.line}" if self.source and self.line else self.source
        document = f"document {self.document}" if self.document else ""
        parts = (place, document, shortened(self.object), shortened(self.path))
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Shown):
    """One thing noticed.

    `rule` is a stable identifier in kebab case (`pool-incomplete`). `subject` is what it is about, printed the way the
    API names it (a `DeviceID`, an object name, a request). `message` says in one sentence what is wrong. `advice` says
    what to do next. `origin` is the place of the text, if it came from a document.

    Example:
        >>> from dra_lab import load_cluster
        >>> [finding.rule for finding in load_cluster("sample:two-sockets").findings]
        []
    """

    rule: Rule
    severity: Severity
    subject: str
    message: str
    advice: str = ""
    origin: Origin | None = None

    def __post_init__(self) -> None:
        """Shorten what a hostile or mistaken file put into the words."""
        for name, text in (("subject", self.subject), ("message", self.message), ("advice", self.advice)):
            # a broken document may have given something else than text
            if isinstance(text, str) and len(text) > MAX_WORD:
                object.__setattr__(self, name, shortened(text))

    def __str__(self) -> str:
        """Return one line for a terminal: severity, place, subject, message and advice."""
        where = f"{self.origin}: " if self.origin and str(self.origin) else ""
        named = self.origin is not None and self.subject in (self.origin.source, self.origin.object)
        subject = f"{self.subject}: " if self.subject and not named else ""
        advice = f". {self.advice}" if self.advice else ""
        return f"{self.severity}: {where}{subject}{self.message}{advice}"


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without repetitions, errors first, then warnings, then notes; stable within a severity."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _RANK[finding.severity]))

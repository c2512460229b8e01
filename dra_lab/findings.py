"""Findings: what dra_lab noticed about an input, a drawing or a plan, as values that can be listed and compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from dra_lab.printing import Shown

MAX_WORD, MAX_TEXT = 300, 4000
"""Longest word and longest text of a message, in characters; what is longer is shortened and says how long it is."""

_LONG_WORD = re.compile(rf"\S{{{MAX_WORD + 1},}}")


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


@dataclass(frozen=True, slots=True)
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

    rule: str
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

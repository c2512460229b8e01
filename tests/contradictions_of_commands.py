"""Statements of one answer that exclude each other: what no command may print, whatever it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dra_lab.drivers import documented_class

_ALL_FITS = re.compile(r"everything fits|all objects are valid and fit", re.IGNORECASE)
_GIVES_UP = re.compile(r"gives up (?:the|this|every) pod")
_MISFIT = re.compile(r"does not fit|Does not fit|is refused|without a place|no node can serve it")
_OPEN = re.compile(r"not decided|could be decided|not checked|nothing was checked", re.IGNORECASE)
_NONE = re.compile(r"(?<!\d)0 (?:not|of)\b[^.,;\n]*")
_SUBJECT = re.compile(r"^(\S+/\S+): (fits|does not fit|not decided|not checked)\b", re.MULTILINE)
_NO_MORE = re.compile(r"no more fit, proven|no more fit \(proven\)")
_MORE = re.compile(r"\b([1-9]\d*) more(?:,| fit| pods| replicas)[^\n]*")
_ANNOUNCED = re.compile(
    r"(\S+): this DeviceClass is not in [^;\n]*; the (?:class that its driver documents|documented one)"
)
_WHOLE_DRIVER = re.compile(r"\s*device\.driver == ['\"][a-z0-9.-]+['\"]\s*")
_COUNTS = re.compile(r"(\d+) objects?: (\d+) valid and fitting, (\d+) not valid or not fitting, (\d+) not checked")
_PLACED = re.compile(r"^(\d+) of (\d+) replicas placed", re.MULTILINE)
_TIMES = re.compile(r"Fits (\d+) times?, (\d+) wanted")
_ERROR = re.compile(r"^error: ", re.MULTILINE)


def contradictions(command: str, status: int, out: str, err: str, drivers: Collection[str] = ()) -> list[str]:
    """Return what excludes what in an answer, one sentence each; nothing for an answer that agrees with itself.

    Args:
        command: The command that answered.
        status: Its exit status.
        out: Its standard output, as text or as one JSON object.
        err: Its standard error.
        drivers: The drivers that publish devices in the cluster; a documented class of theirs selects devices.
    """
    found = [*_of_text(command, status, out, err), *_of_classes(f"{out}\n{err}", drivers)]
    if out.lstrip().startswith("{"):
        found += _of_json(status, json.loads(out))
    return found


def _of_text(command: str, status: int, out: str, err: str) -> Iterator[str]:
    text = f"{out}\n{err}"
    if "Traceback (most recent call last)" in text:
        yield "the answer holds a traceback"
    yield from _of_status(command, status, out, err)
    if _ALL_FITS.search(out):
        for pattern in (_GIVES_UP, _MISFIT, _OPEN, _ERROR):
            if (other := pattern.search(_NONE.sub("", text))) is not None:
                yield f"everything fits, but the answer says {other[0]!r}"
    if _NO_MORE.search(text) and (more := _MORE.search(text)) is not None:
        yield f"no more fit, but the answer says {more[0]!r}"
    yield from _of_subjects(text)
    yield from _of_counts(text, status)


def _of_status(command: str, status: int, out: str, err: str) -> Iterator[str]:
    refused = _ERROR.search(err) is not None and not out.strip()
    if status == 0 and command in ("plan", "check"):
        verdicts = "\n".join(line for line in out.splitlines() if not line.startswith((" ", "warning: ", "note: ")))
        for pattern in (_MISFIT, _ERROR):
            if (other := pattern.search(_NONE.sub("", verdicts))) is not None:
                yield f"the exit status is 0, but the answer says {other[0]!r}"
    if status == 0 and refused:
        yield "the exit status is 0, but the command was refused"
    if status == 1 and command == "plan" and re.search(r"^Fits on ", out, re.MULTILINE):
        yield "the exit status is 1, but the plan says that it fits"
    if status != 0 and _ALL_FITS.search(out):
        yield f"the exit status is {status}, but everything fits"


def _of_subjects(text: str) -> Iterator[str]:
    """Yield objects with two verdicts, and objects that fit beside an error that kube-scheduler gives up on them."""
    verdicts: dict[str, set[str]] = {}
    for subject, verdict in _SUBJECT.findall(text):
        verdicts.setdefault(subject, set()).add(verdict)
    for subject, said in verdicts.items():
        if len(said) > 1:
            yield f"{subject} {' and '.join(sorted(said))}"
        for line in text.splitlines():
            about = line.startswith("error: ") and f"{subject}:" in line
            if said == {"fits"} and about and (_GIVES_UP.search(line) or _MISFIT.search(line)):
                yield f"{subject} fits, but an error says that it does not: {line[:200]}"
    for times, wanted in _TIMES.findall(text):
        if int(times) < int(wanted) and "fits" in set().union(*verdicts.values()) and len(verdicts) == 1:
            yield f"it fits {times} times of {wanted}, and is said to fit"


def _of_classes(text: str, drivers: Collection[str]) -> Iterator[str]:
    """Yield classes that the answer announces as used and then counts as if there were none.

    Only classes count that select every device of a driver with devices: another class may rightly select none.
    """
    for name in dict.fromkeys(_ANNOUNCED.findall(text)):
        driver, documented = documented_class(name) or ("", None)
        whole = documented is not None and all(_WHOLE_DRIVER.fullmatch(text) for text in documented.selectors)
        if driver in drivers and whole and re.search(rf"\b0 (?:are )?of class {re.escape(name)}(?![\w.-])", text):
            yield f"the documented class {name} is announced, but no device is of it"


def _of_counts(text: str, status: int) -> Iterator[str]:
    for counted in _COUNTS.finditer(text):
        objects, fitting, wrong, unchecked = map(int, counted.groups())
        if objects != fitting + wrong + unchecked:
            yield f"the outcomes do not add up: {counted[0]}"
        if wrong and status != 1:
            yield f"{wrong} objects do not fit, but the exit status is {status}"
        if status == 1 and not wrong and not _ERROR.search(text):
            yield "the exit status is 1, but no object and no error says why"
    for placed, wanted in _PLACED.findall(text):
        if status == 0 and int(placed) < int(wanted):
            yield f"{placed} of {wanted} replicas are placed, but the exit status is 0"


def _of_json(status: int, answer: Mapping[str, Any]) -> Iterator[str]:
    outcome = answer.get("outcome")
    expected = {"fits": (0,), "does-not-fit": (1,), "not-checked": (0, 2), "stopped": (2,)}
    if outcome in expected and status not in expected[outcome]:
        yield f"the outcome is {outcome}, but the exit status is {status}"
    errors = [item for item in answer.get("findings") or () if item.get("severity") == "error"]
    if outcome == "fits" and any(_GIVES_UP.search(str(item.get("message"))) for item in errors):
        yield "the outcome is fits, but a finding says that kube-scheduler gives up the pod"
    if outcome == "fits" and any(item.get("outcome") == "does-not-fit" for item in answer.get("objects") or ()):
        yield "the outcome is fits, but an object does not fit"

"""A detector for answers that contain two statements which exclude each other, in text, in HTML and in JSON.

`TEXT` is the list of pairs for texts: terminal, Markdown, plain text of a notebook, findings on standard error. If both
patterns match, the answer contradicts itself; with a group `subject` in both, only if they say it of the same subject.
`STATUS` is the list of what excludes an exit status, and `VALUES` the list of rules for JSON. `of_command` holds all of
them against what a command printed. Each function returns what was found, in words, [] for nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from html import unescape
from typing import Any, NamedTuple

from dra_lab.drivers.profiles import documented_class


class Pair(NamedTuple):
    """Two statements that exclude each other, each as a pattern over lines."""

    name: str
    one: str
    other: str


_GIVEN_UP = r"gives? up (?:the|a|this|every) (?:whole )?pod"
_ALL_FIT = (
    r"[Ee]verything fits"
    r"|^[\d,]+ objects?: [\d,]+ valid and fitting, 0 not valid or not fitting, 0 not checked"
)
_MISFIT = r"[Dd]oes not fit|is refused|without a place|no node can serve it"
_OPEN = r"^(?:Not decided|Not checked|Not answered): "
_CLASS_IN_USE = r"(?P<subject>[\w.-]+): this DeviceClass is not in this cluster; .* is (?:used|checked instead)"

TEXT: tuple[Pair, ...] = (
    # fits / gives up
    Pair("an answer fits, and kube-scheduler gives up its pod", r"^(?:Fits on [1-9]|Best on )", _GIVEN_UP),
    Pair(
        "a workload fits, and kube-scheduler gives up its pod",
        r"^(?P<subject>\S+/\S+)[^:\n]*: fits$",
        rf"^(?:error|warning): .*\b(?P<subject>[A-Z]\w+/[\w.:\[\]-]*\w)\b.*(?:{_GIVEN_UP})",
    ),
    Pair("everything fits, and a pod is given up", _ALL_FIT, _GIVEN_UP),
    Pair(
        "an answer fits, and a selector that fails is an error",
        r"^Fits on [1-9]",
        r"^error: .*a selector fails on",
    ),
    # fits / does not fit / not checked
    Pair("an answer fits and does not fit", r"^Fits on [1-9]", r"^Does not fit\. "),
    Pair("an answer fits and is open", r"^Fits on [1-9]", _OPEN),
    Pair("everything fits, and something does not", _ALL_FIT, _MISFIT),
    Pair("everything fits, and something is open", _ALL_FIT, r"^\S.*: (?:not checked|not decided)$"),
    Pair("everything fits, and there is an error", _ALL_FIT, r"^error: "),
    Pair(
        "a workload does not fit and fits",
        r"^(?P<subject>\S+/\S+): fits$",
        r"^(?P<subject>\S+/\S+): (?:does not fit|not checked|not decided)$",
    ),
    Pair("there is nothing to check, and something was checked", r"^Nothing to check", r"^\S+/\S+: (?:fits|does not)"),
    # used / does not exist
    Pair(
        "a class is used and does not exist",
        _CLASS_IN_USE,
        r"DeviceClass '(?P<subject>[\w.-]+)' does not exist",
    ),
    Pair(
        "a class is documented and not known",
        _CLASS_IN_USE,
        r"(?P<subject>[\w.-]+): this DeviceClass is not in the cluster and not documented",
    ),
    # proven / more fit
    Pair("no more fit, and more fit", r"no more fit, proven", r"^ *warning: .*proof-withdrawn|nothing in it counts as"),
    Pair(
        "not one fits, and more fit",
        r"^Not one replica fits, proven",
        r"^ +(?:- )?[^:\n]+: (?:at least )?[1-9][\d,]* more",
    ),
    Pair(
        "a claim fits not even once, and more of it fit",
        r"^ +(?:- )?(?P<subject>[^:\n]+): not even once, proven",
        r"^ +(?:- )?(?P<subject>[^:\n]+): (?:at least )?[1-9][\d,]* more",
    ),
    # proven / not proven
    Pair("every goal is proven, and one is not", r"Every goal is proven optimal", r"^ .*\S {2,}not proven"),
    Pair("the best is proven and not proven", r"^.*Best on [^\n]*\bproven optimal\b", r"best so far, not proven"),
    # as planned / not as planned
    Pair(
        "every replica is allocated as planned, and one is not",
        r"\b(?P<subject>[1-9]\d*) of (?P=subject) as planned(?! \()|exactly this plan",
        r"export-not-as-planned|does not allocate every replica as planned",
    ),
    # in use / free
    Pair("nothing is in use, and it fits now", r"(?i:nothing in use)\b", r"Fits on [\d,]+ of [\d,]+ nodes? now\b"),
    Pair(
        "nothing matches, and some are free or in use",
        r"(?P<subject>[Rr]equest \S+) needs [^;\n]*; no device of the cluster matches it",
        r"(?P<subject>[Rr]equest \S+) needs [^;\n]*; (?:none|[\d,]+) (?:is|are) free",
    ),
    Pair(
        "what is in use is not known, and devices are free",
        r"no claims were read|no ResourceClaims were read",
        r"[Nn]o node has [\d,]+ free |\d (?:is|are) free in the whole cluster|^ *free  ",
    ),
    # pending / starts
    Pair("a pod is pending for a reason, and it fits", r"^\S+/\S+ (?:is|would stay) pending: ", r"^Fits on [1-9]"),
)


STATUS: tuple[tuple[int, str], ...] = (
    (0, rf"^(?! |warning: |note: ).*(?:{_MISFIT})"),
    (1, r"^Fits on "),
    (1, _ALL_FIT),
    (2, r"^Fits on "),
    (2, _ALL_FIT),
)
"""Exit statuses of `plan` and `check`, each with a pattern of standard output that excludes it."""


_CONDITIONAL = re.compile(
    r"^(?:warning|note): .*\bmay need .*"  # a search that may take too long: a warning, and no statement that it does
    r"|and a request with allocationMode All gives up the pod"  # of another request
    r"|kube-scheduler gives up the (?:whole )?pod when it meets (?:one|such a device)"  # of a selector, read alone
    r"|[^.\n:]*: it then fits on [^\n]*",  # what a relaxation would bring
    re.MULTILINE,
)
"""Statements under a condition exclude nothing."""


def of_text(text: str) -> list[str]:
    """Return the contradictions in a text."""
    text = _CONDITIONAL.sub("", text)
    found = [pair.name for pair in TEXT if _both(pair, text)]
    return [*found, *_short_and_more(text), *_times(text), *_counts(text)]


def of_page(html: str) -> list[str]:
    """Return the contradictions in the text of an HTML page."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    lines = re.sub(r"<(?:br|/p|/li|/tr|/h\d|/div|/summary|/text|/title)[^>]*>", "\n", html)
    return of_text(unescape(re.sub(r"<[^>]+>", "", lines)))


def of_command(command: str, status: int, out: str, err: str, drivers: Collection[str] = ()) -> list[str]:
    """Return the contradictions in what a command answered.

    Args:
        command: The command that answered.
        status: Its exit status.
        out: Its standard output, as text or as one JSON object.
        err: Its standard error.
        drivers: The drivers that publish devices in the cluster; a documented class of theirs selects devices.
    """
    is_json = out.lstrip().startswith("{")
    # `check` lists its findings under a heading; they are read as those on standard error
    out = out if is_json else re.sub(r"^ +- (?=(?:error|warning|note): )", "", out, flags=re.MULTILINE)
    text = f"{err}\n" if is_json else f"{out}\n{err}"
    found = [*of_text(text), *_exit(command, status, out, err), *_unused_classes(text, drivers)]
    if "Traceback (most recent call last)" in text:
        found.append("the answer holds a traceback")
    if is_json:
        value = json.loads(out)
        found += (*of_value(value), *of_status(value, status))
    return found


def _exit(command: str, status: int, out: str, err: str) -> Iterator[str]:
    """Yield what excludes an exit status."""
    if command in ("plan", "check"):
        for number, pattern in STATUS:
            if status == number and (other := re.search(pattern, out, re.MULTILINE)) is not None:
                yield f"the exit status is {status}, but the answer says {other[0]!r}"
    failed = re.search(r"^error: ", err, re.MULTILINE)
    if status == 0 and command in ("plan", "check") and failed is not None:
        yield "the exit status is 0, but there is an error"
    if status == 0 and failed is not None and not out.strip():
        yield "the exit status is 0, but the command was refused"
    for counted in _COUNTS.finditer(out):
        wrong = int(counted[3])
        if wrong and status != 1:
            yield f"{wrong} objects do not fit, but the exit status is {status}"
        if status == 1 and not wrong and not failed:
            yield "the exit status is 1, but no object and no error says why"
    for placed, wanted in re.findall(r"^(\d+) of (\d+) replicas placed", out, re.MULTILINE):
        if status == 0 and int(placed) < int(wanted):
            yield f"the exit status is 0, but {placed} of {wanted} replicas are placed"


def _unused_classes(text: str, drivers: Collection[str]) -> Iterator[str]:
    """Yield classes that the answer announces as used and then counts as if there were none.

    Only classes count that select every device of a driver with devices: another class may rightly select none.
    """
    for name in dict.fromkeys(_ANNOUNCED.findall(text)):
        known = documented_class(name, {})
        whole = known is not None and all(_WHOLE_DRIVER.fullmatch(text) for text in known[1].selectors)
        if (
            known is not None
            and known[0].driver in drivers
            and whole
            and re.search(rf"\b0 (?:are )?of class {re.escape(name)}(?![\w.-])", text)
        ):
            yield f"the documented class {name} is announced, but no device is of it"


def _both(pair: Pair, text: str) -> bool:
    one, other = (list(re.finditer(part, text, re.MULTILINE)) for part in (pair.one, pair.other))
    if "(?P<subject>" not in pair.one or "(?P<subject>" not in pair.other:
        return bool(one and other)
    return bool({match["subject"] for match in one} & {match["subject"] for match in other})


def _short_and_more(text: str) -> Iterator[str]:
    """Yield a workload of which fewer are placed than wanted, "no more fit, proven", and of which more fit after it."""
    if "no more fit, proven" not in text:
        return
    rows = re.findall(r"^  (\S.*?) {2,}([\d,]+) {2,}([\d,]+)$", text, re.MULTILINE)
    short = {name for name, wanted, placed in rows if int(placed.replace(",", "")) < int(wanted.replace(",", ""))}
    if not rows and (any_more := re.search(r"\b[1-9]\d* more(?:,| fit| pods| replicas)", text)) is not None:
        yield f"no more fit, but the answer says {any_more[0]!r}"
    for name, more in re.findall(r"^ +(?:- )?([^:\n]+): (?:at least )?([1-9][\d,]*) more", text, re.MULTILINE):
        if name in short:
            yield f"no more fit, proven, and {more} more of {name} fit"


def _times(text: str) -> Iterator[str]:
    """Yield a workload that fits, but fewer times than wanted."""
    for subject, times, wanted in re.findall(
        r"^(\S+/\S.*): fits$\n +(?:- )?Fits (\d+) times?, (\d+) wanted", text, re.MULTILINE
    ):
        if int(times) < int(wanted):
            yield f"{subject} is said to fit, {times} times of {wanted}"


_COUNTS = re.compile(
    r"^(\d+) objects?: (\d+) valid and fitting, (\d+) not valid or not fitting, (\d+) not checked", re.MULTILINE
)
_ANNOUNCED = re.compile(r"(\S+): this DeviceClass is not in [^;\n]*; the documented one")
_WHOLE_DRIVER = re.compile(r"\s*device\.driver == ['\"][a-z0-9.-]+['\"]\s*")


def _counts(text: str) -> Iterator[str]:
    """Yield a last line of `check` whose counts do not add up."""
    for line in _COUNTS.finditer(text):
        if int(line[1]) != sum(int(line[part]) for part in (2, 3, 4)):
            yield f"the counts of the last line do not add up: {line[0]}"


def _check(value: dict[str, Any]) -> Iterator[str]:
    found = {item["outcome"] for item in value["objects"]}
    errors = [finding for finding in value["findings"] if finding["severity"] == "error"]
    if value["outcome"] == "fits" and (found - {"fits"} or errors):
        yield "the check fits, and an object does not or a finding is an error"
    if value["outcome"] == "does-not-fit" and not (errors or "does-not-fit" in found):
        yield "the check does not fit, and nothing says what"
    if value["outcome"] in ("not-checked", "stopped") and ("does-not-fit" in found or errors):
        yield "the check is open, and something does not fit"
    for item in value["workloads"]:
        if item["outcome"] == "fits" and item["times"] is not None and item["times"] < item["wanted"]:
            yield f"{item['subject']} fits, {item['times']} of {item['wanted']} times"
        if item["outcome"] == "fits" and item["plan"] and (item["plan"].get("firstFit") or {}).get("status") == "error":
            yield f"{item['subject']} fits, and kube-scheduler gives up its pod"


def _plan(value: dict[str, Any]) -> Iterator[str]:
    given_up = (value["firstFit"] or {}).get("status") == "error"
    if value["fits"] != (value["outcome"] == "fits"):
        yield f"the plan's outcome is {value['outcome']}, and `fits` is {value['fits']}"
    if value["fits"] and given_up and "answer" not in value:
        yield "the plan fits, and kube-scheduler gives up its pod"
    exists = value["status"] in ("optimal", "feasible")
    if value["fits"] and not exists:
        yield "the plan fits, and there is no allocation"
    if exists != bool(value["node"]):
        yield "there is an allocation without a node, or a node without an allocation"
    if value["fits"] and value["summary"]["pods"] == 1 and value["shortfalls"]:
        yield "the plan fits, and gives reasons why not"
    if value["status"] == "optimal" and not all(goal["proven"] for goal in value["goals"]):
        yield "the plan is optimal, and a goal is not proven"
    if value["summary"]["pods"] != 1:
        yield from _fleet(value)
    elif exists != bool(value["nodes"]["fitting"]):
        yield "there is an allocation on no node, or none on nodes where there is one"


def _fleet(value: dict[str, Any]) -> Iterator[str]:
    unplaced = {goal["goal"]: goal for goal in value["goals"]}.get("unplaced")
    short = {w["name"] for w in value["workloads"] if w["placed"] < w["replicas"]}
    if short and value["outcome"] == "fits":
        yield f"the outcome is fits, and not every replica of {', '.join(sorted(short))} is placed"
    claimed = value["status"] == "infeasible" or (unplaced is not None and unplaced["bound"])
    after = value.get("after") or {}
    for name, headroom in after.get("more", {}).items():
        count = headroom["count"]["value"]
        if count and name in short and claimed and value["objective"] == "replicas":
            yield f"not more replicas fit, proven, and {count} more of {name} do"
    if sum(w["placed"] for w in value["workloads"]) != value["summary"]["replicasPlaced"]:
        yield "the replicas are not those that are placed"
    if unplaced is not None and unplaced["value"] != sum(w["replicas"] - w["placed"] for w in value["workloads"]):
        yield "the goal counts other replicas than are not placed"
    for job in after.get("jobs", ()):
        headrooms = [headroom for name, headroom in after["more"].items() if name == job["claim"]]
        if any(_apart(headroom["count"], job["replicas"]) for headroom in headrooms):
            yield f"after the plan one number of pods of {job['claim']} fits, and another one starts together"


def _apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether two numbers that are the same cannot be."""
    return any(a["bound"] is not None and b["value"] > a["bound"] for a, b in ((one, other), (other, one)))


def _goals(value: dict[str, Any]) -> Iterator[str]:
    for goal in value.get("goals", ()):
        if goal["bound"] is not None and goal["bound"] > goal["value"]:
            yield f"the goal {goal['goal']} is better than its bound"
        if goal["proven"] and goal["bound"] is not None and goal["bound"] < goal["value"]:
            yield f"the goal {goal['goal']} is proven, and may be better"


def _errors(value: dict[str, Any]) -> Iterator[str]:
    for finding in value.get("findings", ()):
        message = _CONDITIONAL.sub("", str(finding.get("message")))
        if value.get("outcome") == "fits" and finding["severity"] == "error" and re.search(_GIVEN_UP, message):
            yield "the outcome is fits, and a finding says that kube-scheduler gives up the pod"
    if value.get("outcome") == "fits" and any(item["outcome"] == "does-not-fit" for item in value.get("objects", ())):
        yield "the outcome is fits, and an object does not fit"


def of_record(record: dict[str, Any], status: int, *, allow_worse: bool = False) -> list[str]:
    """Return the contradictions in the `plan.json` of an export, and between it and the exit status."""
    plan, answer = record.get("plan") or {}, record["answer"]
    found = of_value({**plan, "answer": answer})
    if plan and plan["outcome"] != answer["outcome"]:
        found.append(f"the plan's outcome is {plan['outcome']}, that of the answer {answer['outcome']}")
    if answer["asPlanned"] and answer["reasons"]:
        found.append("every replica is allocated as planned, and there are reasons why not")
    if status == 0 and not (answer["outcome"] == "fits" and (allow_worse or answer["asPlanned"])):
        found.append(f"the exit status is 0, and the answer is {answer['outcome']}, as planned: {answer['asPlanned']}")
    if status and answer["outcome"] == "fits" and answer["asPlanned"]:
        found.append(f"the exit status is {status}, and everything is as planned")
    return found


VALUES: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {"Check": _check, "Plan": _plan}
"""The rules for JSON, by its `kind`."""


def of_value(value: dict[str, Any]) -> list[str]:
    """Return the contradictions in an answer as JSON, those of plans in it included."""
    found = [*VALUES.get(value.get("kind", ""), lambda _: iter(()))(value), *_goals(value), *_errors(value)]
    for item in value.get("workloads", ()):
        if isinstance(item.get("plan"), dict):
            found += of_value(item["plan"])
    return found


def of_status(value: dict[str, Any], status: int) -> list[str]:
    """Return whether the exit status contradicts the `outcome` of an answer as JSON."""
    means = {"fits": 0, "does-not-fit": 1, "not-checked": 2, "stopped": 2}
    expected = means.get(value.get("outcome", ""), status)
    return [] if status == expected else [f"the outcome is {value['outcome']}, but the exit status is {status}"]

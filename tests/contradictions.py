"""A detector for answers that contain two statements which exclude each other, in text and in JSON.

`TEXT` is the list of pairs for texts: terminal, Markdown, plain text of a notebook, findings on standard error. If both
patterns match, the answer contradicts itself; with a group `subject` in both, only if they say it of the same subject.
`VALUES` is the list of rules for JSON. `of_text` and `of_value` return what was found, in words, [] for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """Two statements that exclude each other, each as a pattern over lines."""

    name: str
    one: str
    other: str


_GIVEN_UP = r"gives? up (?:the|a) (?:whole )?pod|gives? up \("
_ALL_FIT = r"everything fits|^[\d,]+ objects?: [\d,]+ valid and fitting, 0 not valid or not fitting, 0 not checked"
_OPEN = r"^(?:Not decided|Not checked|Not answered): "

TEXT: tuple[Pair, ...] = (
    # fits / gives up
    Pair("an answer fits, and kube-scheduler gives up its pod", r"^(?:Fits on [1-9]|Best on )", _GIVEN_UP),
    Pair(
        "a workload fits, and kube-scheduler gives up its pod",
        r"^(?P<subject>\S+/\S+)[^:\n]*: fits$",
        rf"^(?:error|warning): .*\b(?P<subject>[A-Z]\w+/[\w.-]+)\b.*(?:{_GIVEN_UP})",
    ),
    Pair("everything fits, and a pod is given up", _ALL_FIT, _GIVEN_UP),
    # fits / does not fit / not checked
    Pair("an answer fits and does not fit", r"^Fits on [1-9]", r"^Does not fit: "),
    Pair("an answer fits and is open", r"^Fits on [1-9]", _OPEN),
    Pair("everything fits, and something does not", _ALL_FIT, r"^\S.*: (?:does not fit|not checked|not decided)$"),
    Pair("everything fits, and there is an error", _ALL_FIT, r"^error: "),
    Pair(
        "a workload fits and does not fit",
        r"^(?P<subject>\S+/\S+): fits$",
        r"^(?P<subject>\S+/\S+): (?:does not fit|not checked|not decided)$",
    ),
    Pair("there is nothing to check, and something was checked", r"^Nothing to check", r"^\S+/\S+: (?:fits|does not)"),
    # used / does not exist
    Pair(
        "a class is used and does not exist",
        r"(?P<subject>[\w.-]+): this DeviceClass is not in what was (?:read|given); .* (?:is used|looked at)",
        r"DeviceClass '(?P<subject>[\w.-]+)' does not exist",
    ),
    Pair(
        "a class is documented and not known",
        r"(?P<subject>[\w.-]+): this DeviceClass is not in what was (?:read|given); .* (?:is used|looked at)",
        r"(?P<subject>[\w.-]+): this DeviceClass is not in the cluster and not documented",
    ),
    # proven / more fit
    Pair("no more fit, and more fit", r"no more fit, proven", r"^ *warning: .*proof-withdrawn|nothing of it counts as"),
    Pair("not one fits, and more fit", r"^Not one replica fits, proven", r"^ +[^:\n]+: (?:at least )?[1-9][\d,]* more"),
    Pair(
        "a claim fits not even once, and more of it fit",
        r"^ +(?P<subject>[^:\n]+): not even once, proven",
        r"^ +(?P<subject>[^:\n]+): (?:at least )?[1-9][\d,]* more",
    ),
    # proven / not proven
    Pair("every goal is proven, and one is not", r"Every goal is proven best", r"^ .*\S {2,}not proven"),
    Pair("the best is proven and not proven", r"^.*Best on [^.\n]*[^t] proven\.", r"best so far, not proven"),
    # as planned / not as planned
    Pair(
        "every replica is allocated as planned, and one is not",
        r"\b(?P<subject>[1-9]\d*) of (?P=subject) as planned(?! \()|exactly this plan",
        r"export-not-as-planned|does not allocate every replica as planned",
    ),
    # announced / unused
    Pair(
        "a class is exported, and cannot be",
        r"(?P<subject>[\w.-]+): this DeviceClass .* exported with the claim",
        r"(?P<subject>[\w.-]+): .* is not exported",
    ),
)


_CONDITIONAL = re.compile(
    r"^(?:warning|note): .*\bmay need .*"  # a search that may take too long: a warning, and no statement that it does
    r"|and a request with allocationMode All gives up the pod"  # of another request
    r"|gives up the (?:whole )?pod when it meets (?:one|such a device)"  # of a selector, where it is read alone
    r"|[^.\n:]*: it then fits on [^\n]*",  # what a relaxation would bring
    re.MULTILINE,
)
"""What is said under a condition: it excludes nothing."""


def of_text(text: str) -> list[str]:
    """Return the contradictions in a text."""
    text = _CONDITIONAL.sub("", text)
    found = [pair.name for pair in TEXT if _both(pair, text)]
    return [*found, *_short_and_more(text), *_counts(text)]


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
    for name, more in re.findall(r"^ +([^:\n]+): (?:at least )?([1-9][\d,]*) more", text, re.MULTILINE):
        if name in short:
            yield f"no more fit, proven, and {more} more of {name} fit"


def _counts(text: str) -> Iterator[str]:
    """Yield a last line of `check` whose counts do not add up."""
    line = re.search(
        r"^(\d+) objects?: (\d+) valid and fitting, (\d+) not valid.*?, (\d+) not checked", text, re.MULTILINE
    )
    if line is not None and int(line[1]) != sum(int(line[part]) for part in (2, 3, 4)):
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
    if value["fits"] != bool(value["node"]):
        yield "the plan fits without a node, or does not fit on one"
    if value["fits"] and value["shortfalls"]:
        yield "the plan fits, and gives reasons why not"
    if value["status"] == "optimal" and not all(goal["proven"] for goal in value["goals"]):
        yield "the plan is optimal, and a goal is not proven"
    if value["fits"] != bool(value["nodes"]["fitting"]):
        yield "the plan fits on no node, or not on nodes where it fits"


def _fleet(value: dict[str, Any]) -> Iterator[str]:
    unplaced = {goal["goal"]: goal for goal in value["goals"]}.get("unplaced")
    short = {w["name"] for w in value["workloads"] if w["placed"] < w["replicas"]}
    claimed = value["status"] == "infeasible" or (unplaced is not None and unplaced["bound"])
    for room in value.get("after", {}).get("more", ()):
        if room["count"] and room["workload"] in short and claimed and value["objective"] == "replicas":
            yield f"not more replicas fit, proven, and {room['count']} more of {room['workload']} do"
    if sum(w["placed"] for w in value["workloads"]) != len(value["replicas"]):
        yield "the replicas are not those that are placed"
    if unplaced is not None and unplaced["value"] != sum(w["replicas"] - w["placed"] for w in value["workloads"]):
        yield "the goal counts other replicas than are not placed"
    for job in value.get("after", {}).get("largestJobs", ()):
        rooms = [room for room in value["after"]["more"] if room["workload"] == job["claim"]]
        if any(room["count"] > job["replicasBound"] or job["replicas"] > room["bound"] for room in rooms):
            yield f"after the plan one number of pods of {job['claim']} fits, and another one starts together"


def _goals(value: dict[str, Any]) -> Iterator[str]:
    for goal in value.get("goals", ()):
        if goal["bound"] is not None and goal["bound"] > goal["value"]:
            yield f"the goal {goal['goal']} is better than its bound"
        if goal["proven"] and goal["bound"] is not None and goal["bound"] < goal["value"]:
            yield f"the goal {goal['goal']} is proven, and may be better"


VALUES: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {"Check": _check, "Plan": _plan, "FleetPlan": _fleet}
"""The rules for JSON, by its `kind`."""


def of_value(value: dict[str, Any]) -> list[str]:
    """Return the contradictions in an answer as JSON, those of plans in it included."""
    found = [*VALUES.get(value.get("kind", ""), lambda _: iter(()))(value), *_goals(value)]
    for item in value.get("workloads", ()):
        if isinstance(item.get("plan"), dict):
            found += of_value(item["plan"])
    return found


def of_status(value: dict[str, Any], status: int) -> list[str]:
    """Return whether the exit status contradicts the `outcome` of an answer as JSON."""
    means = {"fits": 0, "does-not-fit": 1, "not-checked": 2, "stopped": 2}
    expected = means.get(value.get("outcome", ""), status)
    return [] if status == expected else [f"the exit status is {status}, and the outcome {value['outcome']}"]

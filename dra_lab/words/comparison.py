"""Kept plans side by side: one row per question, what differs, which is best, and the difference of the manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from msgspec import Struct

from dra_lab.model.goals import GOAL_WORDS, GOALS, GoalValue
from dra_lab.model.sketch import Kept, KnownValue
from dra_lab.words.document import Item, Lines, Part, Sentence, Table
from dra_lab.words.facts import KINDS, counted
from dra_lab.words.plan_json import answer_json
from dra_lab.words.scheduler_sentences import differing_words

_ALIGNMENT = ("alternatives", "preferences", "numa", "unpaired", "roots")
_PER_CLAIM = ("paired", "numa", "roots")
_UNKNOWN = "not known"
_NAMED = 4


class Cell(Struct, frozen=True, omit_defaults=True):
    """One value of the comparison; `best` if no other column is better and another one is worse."""

    text: str
    best: bool = False


class ComparisonRow(Struct, frozen=True):
    """One row: its name, its label, a cell per plan, and whether the cells differ."""

    key: str
    label: str
    cells: tuple[Cell, ...]
    differs: bool


GANGS = "gangs"
"""The mode of a plan of gangs from a file; `node` has the domains of its gangs."""


def _of(name: str, whole: str, noun: str = "") -> Callable[[Kept], str]:
    def words(kept: Kept) -> str:
        found = kept.figures.get(name)
        total = kept.figures.get(whole)
        return "" if found is None or total is None else f"{_number(found)} of {total.value:,}{noun}"

    return words


def _value(name: str) -> Callable[[Kept], str]:
    return lambda kept: _number(kept.figures[name]) if name in kept.figures else ""


def _number(found: KnownValue) -> str:
    if found.bound is None or found.bound == found.value:
        return f"{found.value:,}"
    low, high = sorted((found.value, found.bound))
    return f"{low:,} to {high:,}"


def _paired(kept: Kept) -> str:
    gpus, unpaired = (kept.figures.get(name) for name in ("gpus", "unpaired"))
    return "" if gpus is None or unpaired is None else f"{gpus.value - unpaired.value} of {gpus.value}"


def _bandwidth(prefix: str = "") -> Callable[[Kept], str]:
    def words(kept: Kept) -> str:
        low, high = (kept.figures.get(f"{prefix}bandwidth/{end}") for end in ("low", "high"))
        if low is None or high is None:
            return _UNKNOWN if "gpus" in kept.figures else ""
        return f"{low.value} %" if low.value == high.value else f"{low.value} to {high.value} %"

    return words


def _copies(kept: Kept) -> str:
    if "copies" in kept.figures:
        return _value("copies")(kept)
    more = {name.partition("/")[2]: number for name, number in kept.figures.items() if name.startswith("more/")}
    return ", ".join(f"{_number(number)} more of {name}" for name, number in more.items())


def _stranded(kept: Kept) -> str:
    lost = {name.partition("/")[2]: number for name, number in kept.figures.items() if name.startswith("stranded/")}
    words = [f"{number.value:,} {KINDS.get(kind, kind)}" for kind, number in lost.items() if number.value]
    return ", ".join(words) or ("nothing" if lost else "")


def _on_the_node(kept: Kept) -> str:
    """Return whether kube-scheduler is as good on the plan's node, and if not in which goals it differs."""
    figures = kept.figures
    if "scheduler" not in figures:
        return _UNKNOWN if kept.mode == "plan" and figures.get("placed", KnownValue(value=0)).value else ""
    gpus = figures["gpus"].value if "gpus" in figures else 0
    best, theirs = (
        [GoalValue(goal, figures[f"{prefix}{goal}"].value, of=gpus) for goal in GOALS if f"{prefix}{goal}" in figures]
        for prefix in ("", "scheduler/")
    )
    return differing_words(best, theirs) if theirs or figures["scheduler"].value else "finds nothing"


def _devices(kept: Kept) -> str:
    if kept.mode == GANGS:
        nodes = sorted({device.split("/")[1] for device in kept.devices})
        more = f" and {counted(len(nodes) - _NAMED, 'more node')}" if len(nodes) > _NAMED else ""
        return f"{len(kept.devices):,} on {', '.join(nodes[:_NAMED])}{more}" if nodes else ""
    return ", ".join(sorted(device.rpartition("/")[2] for device in kept.devices))


def _less(name: str) -> Callable[[Kept], float | None]:
    return lambda kept: -float(kept.figures[name].value) if name in kept.figures else None


def _more(name: str) -> Callable[[Kept], float | None]:
    # a number that may be larger is compared with nothing
    return lambda kept: float(kept.figures[name].value) if _is_exact(kept, name) else None


def _is_exact(kept: Kept, name: str) -> bool:
    found = kept.figures.get(name)
    return found is not None and found.bound in (None, found.value)


ROWS: Mapping[str, tuple[str, Callable[[Kept], str], Callable[[Kept], float | None] | None]] = {
    "cluster": ("Cluster", lambda kept: kept.cluster, None),
    "snapshot": ("Snapshot", lambda kept: kept.snapshot[:7], None),
    "changes": ("What if", lambda kept: "; ".join(layer.words for layer in kept.layers), None),
    "release": ("Kubernetes", lambda kept: kept.release, None),
    "fits": ("Fits on", _of("fitting", "fitting/of", " nodes"), _more("fitting")),
    "gangs": ("Gangs placed", _of("gangs", "gangs/of"), _more("gangs")),
    "domains": ("Domains", lambda kept: kept.node if kept.mode == GANGS else "", None),
    "placed": ("Pods placed", _of("placed", "wanted"), _more("placed")),
    "copies": ("Copies that fit, in all", _copies, _more("copies")),
    "stranded": ("Stranded", _stranded, None),
    "levels": ("Domains of preferred levels", _value("gangs/levels"), _less("gangs/levels")),
    "nodes": ("Nodes used", _value("gangs/nodes"), _less("gangs/nodes")),
    "proof": ("Goals not proven", _value("gangs/open"), _less("gangs/open")),
    "node": ("Best node", lambda kept: kept.node if kept.mode != GANGS else "", None),
    "paired": ("GPUs paired", _paired, _less("unpaired")),
    "numa": ("NUMA nodes", _value("numa"), _less("numa")),
    "roots": ("PCIe roots", _value("roots"), _less("roots")),
    "bandwidth": ("Bandwidth kept", _bandwidth(), _more("bandwidth/low")),
    "scheduler": (
        "kube-scheduler",
        lambda kept: kept.simulation.removeprefix("kube-scheduler ").removesuffix("."),
        _more("achieved"),
    ),
    "scheduler-node": ("kube-scheduler on the best node", _on_the_node, _more("scheduler")),
    "scheduler-bandwidth": (
        "Bandwidth with kube-scheduler on the same nodes",
        _bandwidth("scheduler/"),
        _more("scheduler/bandwidth/low"),
    ),
    "devices": ("Devices", _devices, None),
    "yaml": ("YAML", lambda kept: counted(len(kept.yaml.splitlines()), "line") if kept.yaml else "", None),
}
"""The rows of a comparison in their order: label, words, and what is better as a number (more is better)."""


_COUNTED_LATER = ("copies", "stranded", "scheduler")
"""Rows that are not known when a plan is kept; what is not known is no difference."""


def comparison_rows(plans: Sequence[Kept]) -> tuple[ComparisonRow, ...]:
    """Return the rows that say something about at least one of the plans."""
    rows = []
    comparable = _same_gpus(plans)
    simulated = all(kept.simulation for kept in plans)
    for key, (label, words, value) in ROWS.items():
        texts = [words(kept) for kept in plans]
        # kube-scheduler's result on the plan's node is shown only while its simulation on every node is not known
        hidden = len(set(filter(None, texts))) < 2 if key == "snapshot" else key == "scheduler-node" and simulated
        if any(texts) and not hidden:
            compared = filter(None, texts) if key in _COUNTED_LATER else texts
            differs = len(set(compared)) > 1 or (key == "yaml" and len({kept.yaml for kept in plans}) > 1)
            differs = differs or (key == "devices" and len({frozenset(kept.devices) for kept in plans}) > 1)
            values = [value(kept) if value and (key not in _PER_CLAIM or comparable) else None for kept in plans]
            known = [one for one in values if one is not None]
            best = [one is not None and one == max(known) and one > min(known) for one in values]
            cells = tuple(Cell(text or "–", is_best) for text, is_best in zip(texts, best, strict=True))
            rows.append(ComparisonRow(key, label, cells, differs))
    return tuple(rows)


def _same_gpus(plans: Sequence[Kept]) -> bool:
    """Say whether the plans have as many GPUs: else fewer NUMA nodes are not better."""
    return len({kept.figures["gpus"].value if "gpus" in kept.figures else 0 for kept in plans}) == 1


def differ(plans: Sequence[Kept]) -> bool:
    """Say whether the plans differ in anything but their names."""
    drawings = [(kept.sketch, kept.workloads) for kept in plans]
    return any(one != drawings[0] for one in drawings) or any(row.differs for row in comparison_rows(plans))


def comparison_sentence(plans: Sequence[Kept]) -> str:
    """Return the comparison in one or two sentences: which is aligned best, which leaves most room, what differs."""
    if len(plans) < 2:
        return "Keep this plan, then change something." if plans else "There is no plan to compare yet."
    if changed := " ".join(_what_if(plans)):
        return changed
    if not differ(plans):
        return "These plans are the same."
    sentences = [*_aligned(plans), *_most_copies(plans)]
    if sentences:
        return " ".join(sentences)
    labels = [row.label for row in comparison_rows(plans) if row.differs]
    more = f" and {counted(len(labels) - _NAMED, 'more row')}" if len(labels) > _NAMED else ""
    return (
        f"They differ in: {', '.join(labels[:_NAMED])}{more}."
        if labels
        else "They differ in what is drawn, not in the answer."
    )


def _what_if(plans: Sequence[Kept]) -> Iterator[str]:
    """Yield what the what-if changes of the second plan cost or bring, if the first one is without them."""
    first, second = plans[:2]
    changes = [layer.words for layer in second.layers if layer not in first.layers]
    if first.layers or not changes or "placed" not in first.figures or "placed" not in second.figures:
        return
    placed, before = second.figures["placed"].value, first.figures["placed"].value
    wanted = second.figures["wanted"].value
    difference = placed - before
    pods = counted(abs(difference), "pod")
    cost = f"costs {pods}" if difference < 0 else f"brings {pods}" if difference else "costs no pod"
    yield f"{', '.join(changes)}: {cost}, {placed:,} of {wanted:,} placed."
    now, nodes = (kept.figures.get("fitting") for kept in (second, first))
    if now is not None and nodes is not None and now != nodes:
        yield f"The claim fits on {now.value:,} nodes in place of {nodes.value:,}."


def _aligned(plans: Sequence[Kept]) -> Iterator[str]:
    values = [
        tuple(kept.figures[goal].value for goal in _ALIGNMENT if goal in kept.figures)
        for kept in plans
        if "numa" in kept.figures
    ]
    pods = {kept.figures["wanted"].value for kept in plans if kept.mode == GANGS}
    comparable = len(values) == len(plans) and len({len(value) for value in values}) == 1 and len(pods) <= 1
    if comparable and _same_gpus(plans) and values.count(min(values)) == 1:
        best = plans[values.index(min(values))]
        words = [_goal(best, goal) for goal in _ALIGNMENT if len({kept.figures.get(goal) for kept in plans}) > 1]
        yield f"“{best.name}” is aligned best: {', '.join(words)}."


def _goal(kept: Kept, goal: str) -> str:
    if goal == "unpaired" and _paired(kept):
        return f"{_paired(kept)} GPUs paired"
    return GOAL_WORDS[goal].counted(kept.figures[goal].value)


def _most_copies(plans: Sequence[Kept]) -> Iterator[str]:
    copies = [kept.figures["copies"].value for kept in plans if _is_exact(kept, "copies")]
    if len(copies) == len(plans) and copies.count(max(copies)) == 1:
        best, second = plans[copies.index(max(copies))], sorted(copies)[-2]
        more = max(copies) - second
        yield f"“{best.name}” leaves room for most copies: {max(copies):,}, {more:,} more than the next."


def changed_lines(before: str, after: str) -> tuple[str, ...]:
    """Return all lines of two texts, each behind "+", "-" or " "; () if they are the same."""
    old, new = before.splitlines(), after.splitlines()
    return tuple(unified_diff(old, new, lineterm="", n=max(len(old), len(new))))[3:]


def comparison_table(plans: Sequence[Kept]) -> Table:
    """Return the comparison as a table; a row that differs has a mark, and so has a value that is best."""
    rows = [
        [row.label, "yes" if row.differs else "", *(f"{c.text} (best)" if c.best else c.text for c in row.cells)]
        for row in comparison_rows(plans)
    ]
    return Table(["row", "differs", *(kept.name for kept in plans)], rows)


def comparison_parts(plans: Sequence[Kept]) -> Iterator[Part]:
    """Yield the comparison: its sentence, its table, and how each manifest differs from the first."""
    yield Sentence(comparison_sentence(plans))
    yield comparison_table(plans)
    for kept in plans[1:]:
        lines = [line for line in changed_lines(plans[0].yaml, kept.yaml) if line[0] != " "]
        items = [Item(f"{counted(len(lines), 'line')} added or removed", code=lines)] if lines else []
        yield Lines(f"YAML of “{kept.name}” against “{plans[0].name}”", items)


def comparison_json(plans: Sequence[Kept]) -> dict[str, Any]:
    """Return the comparison as plain values."""
    more: dict[str, Any] = {
        "sentence": comparison_sentence(plans),
        "plans": [kept.name for kept in plans],
        "rows": [
            {
                "row": row.key,
                "label": row.label,
                "differs": row.differs,
                "values": [cell.text for cell in row.cells],
                "best": [cell.best for cell in row.cells],
            }
            for row in comparison_rows(plans)
        ],
        "yaml": [{"plan": kept.name, "lines": list(changed_lines(plans[0].yaml, kept.yaml))} for kept in plans[1:]],
    }
    return answer_json("Comparison", "different" if differ(plans) else "same", **more)


def comparison_csv(plans: Sequence[Kept]) -> str:
    """Return the table as CSV: a line per row, a column per plan."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", *(_plain(kept.name) for kept in plans)])
    for row in comparison_rows(plans):
        writer.writerow([row.label, *(_plain(cell.text) for cell in row.cells)])
    return out.getvalue()


def _plain(text: str) -> str:
    """Return a text that a spreadsheet shows and does not run as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text

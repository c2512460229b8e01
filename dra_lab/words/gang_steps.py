"""The steps of a scheduler's choice for a gang in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from dra_lab.model.gang import HOST
from dra_lab.model.gang_replay import GangReplay, GangRule, GangStep, StepDomain
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.words.facts import counted

_NAMED = 4
"""Domains that a sentence names."""

ALL_NODES = "all nodes"


def step_sentence(replay: GangReplay, step: GangStep) -> str:
    """Return what a scheduler does in one step, in one to four short sentences."""
    return _SENTENCES[step.rule](replay, step)


def level_word(replay: GangReplay, step: GangStep) -> str:
    """Return the word for a domain of the level of a step: `rack`, `node`."""
    name = replay.levels[step.level] if 0 <= step.level < len(replay.levels) else ""
    return "node" if name in (HOST, "") else name


def _several_of(number: int, word: str) -> str:
    """Return `1 rack`, `2 racks`, `3 leaf switches`."""
    return f"{number:,} {word if number == 1 else plural(word)}"


def short_names(rows: Sequence[StepDomain]) -> list[str]:
    """Return the names of domains: their own value, or the path where two have the same value."""
    values = Counter(row.path[-1] for row in rows)
    return [row.path[-1] if values[row.path[-1]] == 1 else "/".join(row.path) for row in rows]


def _listed(step: GangStep, count: Callable[[StepDomain], int], *, taken: bool = False) -> str:
    """Return `r2 (8), r1 (3) and 4 more`."""
    rows = [row for row in step.domains if row.taken or not taken]
    names = short_names(rows)
    named = [f"{name} ({count(row):,})" for name, row in zip(names, rows, strict=True)][:_NAMED]
    more = (step.chosen if taken else len(rows) + step.more) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _counted(step: GangStep) -> Callable[[StepDomain], int]:
    return (lambda row: row.slices) if step.size > 1 and step.rule is not GangRule.COUNT else (lambda row: row.pods)


def _all(step: GangStep) -> str:
    """Return `all 8 pods`, or `all 4 slices of 2 pods`."""
    if step.size > 1:
        return f"all {step.wanted // step.size:,} slices of {step.size:,} pods"
    return f"all {step.wanted:,} pods" if step.wanted != 1 else "the pod"


def left_out_words(step: GangStep) -> str:
    """Return which nodes are left out and why, "" if there are none."""
    if not step.reasons:
        return ""
    total = sum(number for _, number in step.reasons)
    why = ", ".join(f"{number:,} {reason}" for reason, number in step.reasons)
    return f" It leaves out {counted(total, 'node')}: {why}."


def _count(_replay: GangReplay, step: GangStep) -> str:
    own = [name for name in step.resources if name != "pods"]
    what = f"{', '.join(own)} and pods" if own else "only pods, because no requests are given"
    total = sum(row.pods > 0 for row in step.domains) if not step.more else step.fitting
    with_room = f"{counted(total, 'node')} {_have(total)} room for {counted(step.fits[1], 'pod')}"
    most = f", at most {step.fits[0]:,} on one" if total > 1 else ""
    return f"Kueue counts {what}. It does not count the devices of claims. {with_room}{most}.{left_out_words(step)}"


def _sorted(replay: GangReplay, step: GangStep) -> str:
    word, number = level_word(replay, step), len(step.domains) + step.more
    first = "largest" if step.rule is GangRule.MOST_FIRST else "smallest"
    listed = _listed(step, _counted(step))
    if number == 1:
        return f"Kueue looks at the only {word}: {listed}."
    with_room = (
        f"{step.fitting:,} of them {_have(step.fitting)} room for {_all(step)}"
        if step.fitting
        else (f"None has room for {_all(step)}")
    )
    unit = "slices" if step.size > 1 else "pods"
    return f"Kueue sorts {_several_of(number, word)} by their room in {unit}, the {first} first: {listed}. {with_room}."


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _tightest(replay: GangReplay, step: GangStep) -> str:
    chosen = next((row for row in step.domains if row.taken), None)
    if chosen is None:
        return f"Kueue takes no {level_word(replay, step)}."
    rule = "the one with the least room that suffices"
    if sum(row.pods == chosen.pods for row in step.domains) > 1:
        rule = "the first by name of those with the least room that suffices"
    if step.rule is GangRule.FIRST_THAT_FITS:
        rule = f"the first that has room for {_all(step)}"
    return f"Kueue takes the {level_word(replay, step)} {chosen.path[-1]}, {rule}."


def _none_fits(replay: GangReplay, step: GangStep) -> str:
    return (
        f"No {level_word(replay, step)} has room for {_all(step)}; the largest has room for {step.fits[0]:,} pods. "
        "The level is required, so Kueue does not look further."
    )


def _wider(replay: GangReplay, step: GangStep) -> str:
    wider = replay.levels[step.level - 1]
    return (
        f"No {level_word(replay, step)} has room for {_all(step)}. The level is only preferred, so Kueue looks at the "
        f"next wider level, {wider}."
    )


def _several(replay: GangReplay, step: GangStep) -> str:
    number, word = step.chosen, level_word(replay, step)
    named = _listed(step, lambda row: row.taken, taken=True)
    return f"Kueue divides {_all(step)} among {_several_of(number, word)}: {named}."


def _too_little(replay: GangReplay, step: GangStep) -> str:
    word = _several_of(len(step.domains) + step.more, level_word(replay, step))
    return f"The {word} together do not have room for {_all(step)} as Kueue counts them."


def _fewest(replay: GangReplay, step: GangStep) -> str:
    inside = "In each of them" if step.rule is GangRule.FEWEST_INSIDE else "There"
    named = _listed(step, lambda row: row.taken, taken=True)
    leader = next((row.path[-1] for row in step.domains if row.leader), "")
    with_leader = f" The leader goes to {leader}." if leader else ""
    number, every = step.chosen, len(step.domains) + step.more
    rest = f" of {every:,}" if every > number else ""
    word = level_word(replay, step)
    return f"{inside} Kueue uses as few {plural(word)} as possible, {number:,}{rest}: {named}.{with_leader}"


def _admitted(_replay: GangReplay, step: GangStep) -> str:
    nodes = counted(step.chosen, "node")
    return (
        f"Kueue admits the gang and binds its {step.wanted:,} pods to {nodes}: {_listed(step, lambda row: row.taken)}."
    )


def _refused(replay: GangReplay, _step: GangStep) -> str:
    return f"{replay.sentence}." if replay.sentence else "Kueue does not admit the gang."


def _claims(_replay: GangReplay, step: GangStep) -> str:
    begin = "kube-scheduler now looks for the devices of the claims, which Kueue did not count."
    least, most = step.fits
    if least >= step.wanted:
        return f"{begin} All {step.wanted:,} pods get theirs."
    if step.fitting == len(step.domains) + step.more:
        return (
            f"{begin} Between {least:,} and {most:,} of {step.wanted:,} pods get theirs; the order of the pods decides."
        )
    short = [row for row in step.domains if row.pods < row.taken]
    named = ", ".join(f"{row.path[-1]} ({row.pods:,} of {row.taken:,})" for row in short[:_NAMED])
    more = f" and {len(short) - _NAMED:,} more" if len(short) > _NAMED else ""
    return f"{begin} They are not there for all: {named}{more}. The other pods wait."


def _placements(replay: GangReplay, step: GangStep) -> str:
    if replay.levels[0] == "cluster":
        return f"kube-scheduler has one placement, all nodes.{left_out_words(step)}"
    made = counted(step.fitting, "placement")
    word = level_word(replay, step)
    begin = f"kube-scheduler makes {made}, one for each value of the label of the level {word}."
    return f"{begin}{left_out_words(step)}"


def _tried(_replay: GangReplay, step: GangStep) -> str:
    least, most = step.fits
    where = step.of[-1]
    begin = "" if where == ALL_NODES else f"Placement {where}: "
    nodes = [row for row in step.domains if row.pods]
    named = ", ".join(f"{row.path[-1]} ({row.pods:,})" for row in nodes[:_NAMED])
    more = f" and {len(nodes) - _NAMED:,} more" if len(nodes) > _NAMED else ""
    with_room = f" The nodes with devices: {named}{more}." if nodes else " No node has devices for a pod."
    wanted = counted(step.wanted, "pod")
    if least >= step.wanted:
        return f"{begin}kube-scheduler places {wanted} one after the other. Every one finds a node.{with_room}"
    if most >= step.wanted:
        range_ = f"Between {least:,} and {most:,} of {wanted} find a node"
        return f"{begin}{range_}; the order of the pods and the scores of the nodes decide.{with_room}"
    known = f"{most:,}" if least == most else f"At most {most:,}"
    return (
        f"{begin}{known} of {wanted} {'finds' if most == 1 else 'find'} a node. Pod {most + 1:,} finds none.{with_room}"
    )


def _more_tried(_replay: GangReplay, step: GangStep) -> str:
    some = f"{step.fitting:,} of them {_have(step.fitting)}" if step.fitting else "none of them has"
    return (
        f"kube-scheduler tries {counted(step.more, 'more placement')}; {some} room for {counted(step.wanted, 'pod')}."
    )


def _no_placement(_replay: GangReplay, step: GangStep) -> str:
    return (
        f"No placement has room for {counted(step.wanted, 'pod')}; the largest has room for {step.fits[1]:,}. The "
        "PodGroup waits and none of its pods starts."
    )


def _one_placement(_replay: GangReplay, step: GangStep) -> str:
    where = step.domains[0]
    name = "This placement" if where.path[-1] == ALL_NODES else f"{where.path[-1]} alone"
    if where.least >= step.wanted:
        return f"{name} has room for {counted(step.wanted, 'pod')}, so the gang starts there."
    return f"{name} may have room for {counted(step.wanted, 'pod')}; the order of the pods decides."


def _scores(_replay: GangReplay, step: GangStep) -> str:
    rows = step.domains
    names = short_names(rows)
    best = preferred(step)
    shown = [f"{name} ({row.score} %)" if best else name for name, row in zip(names, rows, strict=True)][:_NAMED]
    more = step.fitting - len(shown)
    rest = f" and {more:,} more" if more else ""
    begin = f"{step.fitting:,} placements have room: {', '.join(shown)}{rest}."
    if best:
        end = f"{names[0]} has the highest." if len(best) == 1 else "Chance decides among the highest."
        return f"{begin} The score is the share of CPUs and memory that is then requested. {end}"
    return (
        f"{begin} Scores decide: the pods that fit, and the share of CPUs and memory that is then requested. Chance "
        "decides between equal scores, so it may be any of them."
    )


def preferred(step: GangStep) -> tuple[StepDomain, ...]:
    """Return the placements with the highest score, () if the scores are not known."""
    best = max((row.score for row in step.domains), default=-1)
    return tuple(row for row in step.domains if row.score == best >= 0)


_SENTENCES: Mapping[GangRule, Callable[[GangReplay, GangStep], str]] = {
    GangRule.COUNT: _count,
    GangRule.MOST_FIRST: _sorted,
    GangRule.LEAST_FIRST: _sorted,
    GangRule.TIGHTEST: _tightest,
    GangRule.FIRST_THAT_FITS: _tightest,
    GangRule.NONE_FITS: _none_fits,
    GangRule.WIDER: _wider,
    GangRule.SEVERAL: _several,
    GangRule.TOO_LITTLE: _too_little,
    GangRule.FEWEST: _fewest,
    GangRule.FEWEST_INSIDE: _fewest,
    GangRule.ADMITTED: _admitted,
    GangRule.REFUSED: _refused,
    GangRule.CLAIMS: _claims,
    GangRule.PLACEMENTS: _placements,
    GangRule.TRIED: _tried,
    GangRule.MORE_TRIED: _more_tried,
    GangRule.NO_PLACEMENT: _no_placement,
    GangRule.ONE_PLACEMENT: _one_placement,
    GangRule.SCORES: _scores,
}

"""The rows of the Trace pane for a gang: what a scheduler's choice is at one of its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.model.gang import Gang
from dra_lab.model.gang_replay import GangRegret, GangReplay, GangRule, GangStep, GangVerdict, StepDomain
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.widgets.gang_trace_values import DomainState, GangDomainRow, GangStepRow, GangTraceHead, GangTraceNow
from dra_lab.widgets.plan_values import TileRow, Tone
from dra_lab.words.document import printable
from dra_lab.words.facts import counted
from dra_lab.words.gang_replay_document import regret_sentence, replay_sentence
from dra_lab.words.gang_steps import level_word, preferred, step_sentence

_TONES: dict[GangVerdict, Tone] = {GangVerdict.YES: "ok", GangVerdict.MAYBE: "warn", GangVerdict.NO: "error"}


def head_of(gang: Gang, replay: GangReplay | None, regret: GangRegret | None) -> GangTraceHead:
    """Return the head of the pane as far as it is known."""
    where = f"{', each' if gang.replicas > 1 else ''} in one {gang.required}" if gang.required else ""
    pods = f"{counted(gang.replicas, 'gang')} of {counted(gang.size, 'pod')}{where}"
    if replay is None:
        return GangTraceHead(name=printable(gang.name), title=printable(f"{gang.name}: {pods}"))
    return GangTraceHead(
        name=printable(gang.name),
        title=printable(f"{replay.scheduler} places {gang.name}: {pods}"),
        verdict=replay.verdict.value,
        sentence=replay_sentence(replay),
        total=len(replay.steps),
        regret=regret_sentence(regret) if regret is not None else "",
        tiles=tuple(_tiles(replay, regret)),
    )


def _tiles(replay: GangReplay, regret: GangRegret | None) -> Iterator[TileRow]:
    yield TileRow(
        value=replay.verdict.value,
        caption="place found",
        tone=_TONES[replay.verdict],
        title="Place found",
        lines=(replay_sentence(replay), "Maybe: the order of pods, scores or chance decide."),
    )
    if regret is None or regret.unknown or not regret.best:
        return
    number = f"{regret.least:,}" if regret.least == regret.most else f"{regret.least:,} to {regret.most:,}"
    yield TileRow(
        value=f"{number} of {regret.best:,}",
        caption="gangs start",
        tone="warn" if regret.gangs[1] else "ok",
        title="Gangs that start",
        lines=(regret_sentence(regret), "The gangs arrive one after the other, without other workloads."),
    )


def now_of(replay: GangReplay, number: int) -> GangTraceNow:
    """Return what is shown at a step, 0 before the first."""
    steps = tuple(_step_row(replay, at, step) for at, step in enumerate(replay.steps[:number], 1))
    if not number:
        return GangTraceNow()
    step = replay.steps[number - 1]
    rows = tuple(_rows(replay, number))
    word = level_word(replay, step)
    return GangTraceNow(
        step=number,
        sentence=steps[-1].sentence,
        source=step.source,
        steps=steps,
        heading=f"{plural(word)[:1].upper()}{plural(word)[1:]} at this step" if rows else "",
        rows=rows,
        more=f"{step.more:,} more are not listed." if step.more and rows else "",
        scale=_scale(step) if rows else "",
    )


def _scale(step: GangStep) -> str:
    """Return what a full bar means, "" without bars."""
    if step.rule is GangRule.PLACEMENTS:
        return ""
    if step.rule is GangRule.CLAIMS:
        return "A full bar: all pods there get devices."
    return f"A full bar: room for {counted(step.wanted, 'pod')} or more."


def _step_row(replay: GangReplay, number: int, step: GangStep) -> GangStepRow:
    level = level_word(replay, step) if step.level >= 0 else ""
    return GangStepRow(number=number, level=printable(level), sentence=printable(step_sentence(replay, step)))


def _rows(replay: GangReplay, number: int) -> Iterator[GangDomainRow]:
    step = replay.steps[number - 1]
    if step.rule in (GangRule.TRIED, GangRule.MORE_TRIED):
        yield from _tried_rows(replay.steps[:number])
        return
    seen: set[tuple[str, ...]] = set()
    for row in _by_parent(step.domains):
        for depth in range(1, len(row.path)):
            if (above := row.path[:depth]) not in seen:
                seen.add(above)
                yield GangDomainRow(key="/".join(above), name=printable(above[-1]), depth=depth - 1)
        state, words = _state(step, row)
        yield _row(row, len(row.path) - 1, state, words, _wanted(step, row))


def _by_parent(rows: Sequence[StepDomain]) -> list[StepDomain]:
    """Return domains with those of one parent together, in the order of the first of each."""
    order: dict[tuple[str, ...], int] = {}
    for row in rows:
        for depth in range(1, len(row.path)):
            order.setdefault(row.path[:depth], len(order))
    return sorted(rows, key=lambda row: tuple(order[row.path[:depth]] for depth in range(1, len(row.path))))


def _row(row: StepDomain, depth: int, state: DomainState, words: str, wanted: int) -> GangDomainRow:
    return GangDomainRow(
        key="/".join(row.path),
        name=printable(row.path[-1]),
        depth=depth,
        pods=row.pods,
        wanted=wanted,
        state=state,
        words=words,
    )


def _wanted(step: GangStep, row: StepDomain) -> int:
    return row.taken if step.rule is GangRule.CLAIMS else step.wanted


def _state(step: GangStep, row: StepDomain) -> tuple[DomainState, str]:
    """Return the state of a domain at a step, and its words."""
    if step.rule is GangRule.PLACEMENTS:
        return "later", counted(row.pods, "node")
    if step.rule is GangRule.CLAIMS:
        if row.pods < row.taken:
            return "waits", f"{row.pods:,} of {row.taken:,} get devices"
        return ("maybe", "the order decides") if 0 <= row.least < row.taken else ("fits", "all get devices")
    if step.rule in (GangRule.SCORES, GangRule.ONE_PLACEMENT) and row.taken:
        if row.least < step.wanted:
            return "maybe", "the order decides"
        return _scored(step, row) if step.rule is GangRule.SCORES else ("chosen", "chosen")
    if row.taken:
        leader = " and the leader" if row.leader else ""
        return "chosen", f"gets {counted(row.taken, 'pod')}{leader}"
    if not row.pods:
        return "none", "no room"
    whole = row.slices * step.size >= step.wanted if step.size > 1 and row.slices else row.pods >= step.wanted
    slices = f", {counted(row.slices, 'slice')}" if step.size > 1 and row.slices else ""
    return ("fits" if whole else "few"), f"room for {row.pods:,}{slices}"


def _scored(step: GangStep, row: StepDomain) -> tuple[DomainState, str]:
    """Return the state of a placement among those with room."""
    best = preferred(step)
    if not best:
        return "maybe", "may be chosen"
    score = f"score {row.score}"
    if row not in best:
        return "fits", score
    return ("chosen", f"{score}, the highest") if len(best) == 1 else ("maybe", f"{score}, one of the highest")


def _tried_rows(steps: Sequence[GangStep]) -> Iterator[GangDomainRow]:
    """Yield the placements that were tried up to the last step, and the nodes of the present one."""
    tried = [step for step in steps if step.rule is GangRule.TRIED]
    for step in tried:
        least, most = step.fits
        key = "/".join(step.of)
        state: DomainState = "fits" if least >= step.wanted else "maybe" if most >= step.wanted else "few"
        number = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        words = f"{number} of {counted(step.wanted, 'pod')}"
        name, wanted = printable(step.of[-1]), step.wanted
        yield GangDomainRow(key=key, name=name, pods=most, wanted=wanted, state=state if most else "none", words=words)
        if step is steps[-1]:
            for row in step.domains:
                node: DomainState = "fits" if row.pods else "none"
                words = f"takes {row.pods:,}" if row.pods else "no devices for a pod"
                yield _row(row, 1, node, words, step.wanted)

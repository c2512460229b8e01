"""Charts of plans: goals and bandwidth beside kube-scheduler's first fit, and what each scenario places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

from dra_lab.model.goals import UNPLACED, GoalValue
from dra_lab.model.placement import FirstFitStatus, PathShare
from dra_lab.model.plan import Plan
from dra_lab.pictures.charts.amounts import ChartState
from dra_lab.pictures.letters import PALETTE, letter
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.words.document import clean, plain_table
from dra_lab.words.facts import FIRST_FITS, counted, goal_meaning, goal_proof, proof_words
from dra_lab.words.reason_words import ratio_words, source_lines
from dra_lab.words.scheduler_sentences import does

if TYPE_CHECKING:
    import altair as alt


_WHO: Mapping[str, tuple[str, str]] = {
    "best": ("B best", "#0072b2"),
    "manifest": ("K kube-scheduler", "#e69f00"),
    "plain": ("L kube-scheduler without links", "#cc79a7"),
}
"""The planner or scheduler that placed the devices: its words in the legend, and its colour of Okabe and Ito."""

_WIDTH, _LABELS = 420, 330
_AXIS_END = 1.4
"""Where the axis of ratios ends: what is written behind a bar that reaches 1 has room."""
_SHARES = ("placed by", "GPUs", "path to the NIC", "bandwidth left")
_PLAIN = ("goal", "who", "value", "worse by", "proof")


def regret_chart(answer: Plan) -> alt.TopLevelMixin:
    """Return a chart of every goal: the plan's value, and the value that kube-scheduler's first fit reaches instead.

    For a plan of one claim, first fit is on the plan's node: with the manifest, and with counts and selectors only. For
    a fleet, it is the same replicas on the same nodes, or on those for which there was time. Shorter is better. A bar
    ends with its letter, its value and how much worse it is. A value that is not proven shows its bound.

    If a plan knows how the GPUs reach their NICs, a second part shows the bandwidth left, as the range of published
    measurements. Measurements that do not agree with a range appear beside it.
    """
    import altair as alt

    from dra_lab.pictures.charts.look import empty, finish

    heading = "Best against kube-scheduler's first fit, goal by goal"
    rows = _rows(answer)
    if not rows:
        return empty(heading, "There is nothing to compare, because the plan has no allocation.")
    plain = plain_table(_PLAIN, [[r["goal"], r["who"], r["value"], r["worse"], r["proof"]] for r in rows])
    if paths := _paths(answer):
        plain += "\n\n" + plain_table(_SHARES, [[who, s.gpus, s.words, _share_words(s)] for who, _, s in paths])
        plain += "\n" + "\n".join(source_lines(answer.regrets))
    parts = [_goals(rows), _bandwidth(paths)] if paths else [_goals(rows)]
    return finish(alt.vconcat(*parts, spacing=30), heading, _subtitle(answer), plain)


def _subtitle(answer: Plan) -> list[str]:
    if len(answer.pods) > 1:
        proof = "best: proven" if answer.proven else "best so far: not every goal is proven"
        count = f"{len(answer.pods):,} replicas on {len(answer.nodes):,} nodes"
        if answer.first_fit is None:
            return [f"{count}; {proof}", "kube-scheduler's first fit was not simulated"]
        nodes = _compared(answer)
        there = sum(replica.node in nodes for replica in answer.pods)
        some = f"{counted(len(nodes), 'node')}, which there was time to compare"
        many = "the same nodes" if len(nodes) == len(answer.nodes) else some
        placed = f"kube-scheduler places {len(answer.first_fit.pods):,} of the {there:,} replicas on {many}"
        return [f"{count}; {proof}", placed]
    proof = f"on {answer.node}: {proof_words(answer)}"
    found = {"manifest": answer.first_fit, "plain": answer.first_fit_plain}
    failed = [
        f"{FIRST_FITS[name]} {does(answer, fit) if fit is not None else 'was not asked'}"
        for name, fit in found.items()
        if fit is None or not fit.placements
    ]
    return [proof, *failed]


def _compared(answer: Plan) -> frozenset[str]:
    found = answer.first_fit
    whole = found is None or found.status is not FirstFitStatus.STOPPED
    return frozenset(answer.nodes if whole or found is None else found.compared)


def _values(answer: Plan) -> Mapping[str, Sequence[GoalValue]]:
    fits = {"manifest": answer.first_fit, "plain": answer.first_fit_plain}
    theirs = {who: found.goals for who, found in fits.items() if found is not None and found.goals}
    pairs = answer.against_first_fit if "manifest" in theirs else {}
    best = [replace(goal, value=pairs.get(goal.goal, (goal.value,))[0]) for goal in answer.goals]
    return {"best": best, **theirs}


def _rows(answer: Plan) -> list[dict[str, Any]]:
    values = _values(answer)
    best = {goal.goal: goal for goal in values["best"]}
    part = "manifest" in values and len(_compared(answer)) < len(answer.nodes)
    rows = []
    for name, goal in best.items():
        for who, goals in values.items():
            found = next((g for g in goals if g.goal == name), None)
            if found is None:
                continue
            worse = found.value - goal.value if who != "best" and not goal.at_most else 0
            value = f"at most {found.value:,}" if found.at_most else f"{found.value:,}"
            unknown = f", {found.unknown} devices of unknown place" if found.unknown else ""
            proof = goal_proof(found) + unknown
            rows.append(
                {
                    "goal": clean(goal_meaning(name, answer)),
                    "who": _WHO[who][0],
                    "value": found.value,
                    "worse": worse,
                    "words": f"{_WHO[who][0][0]} {value}" + (f" ({worse:+,})" if worse else ""),
                    "proof": "" if who != "best" else "on the nodes that were compared" if part else proof,
                }
            )
    return rows


def _goals(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    from dra_lab.pictures.charts.look import data_of, ink, side_axis, tips

    goals = list(dict.fromkeys(row["goal"] for row in rows))
    shown = [pair for pair in _WHO.values() if any(row["who"] == pair[0] for row in rows)]
    most = max(1, *(row["value"] for row in rows))
    whole = alt.Axis(tickMinStep=1, format=",d")
    scale = alt.Scale(domain=[0, most * 1.2], nice=False)
    base = alt.Chart(data_of(rows)).encode(
        y=alt.Y("goal:N", sort=goals, title="goal, most important first", axis=side_axis(labelLimit=_LABELS)),
        yOffset=alt.YOffset("who:N", sort=[name for name, _ in shown]),
        x=alt.X("value:Q", title="value (a count; smaller is better)", scale=scale, axis=whole),
        tooltip=tips(
            {"goal:N": "", "who:N": "placed by", "value:Q": "", "worse:Q": "worse than the best by", "proof:N": ""}
        ),
    )
    legend = alt.Legend(orient="bottom", columns=len(shown), symbolType="square", labelLimit=260)
    fills = alt.Scale(domain=[name for name, _ in shown], range=[fill for _, fill in shown])
    colour = alt.Color("who:N", title="placed by", scale=fills, legend=legend)
    bars = base.mark_bar(stroke="#808080").encode(color=colour)
    texts = base.mark_text(align="left", dx=4, fontSize=10, color=ink()).encode(text="words:N")
    return alt.layer(bars, texts).properties(width=_WIDTH, height={"step": 14, "for": "offset"})


PathRow = tuple[str, str, PathShare]
"""The planner or scheduler that placed the devices, its colour, and GPUs with the same kind of path to their NICs."""


def _paths(answer: Plan) -> list[PathRow]:
    if not any(regret.paths_differ for regret in answer.regrets):
        return []
    rows = [(*_WHO["best"], share) for share in answer.regrets[0].best]
    return rows + [(*_WHO[r.against], share) for r in answer.regrets for share in r.theirs]


def _share_words(share: PathShare) -> str:
    return ratio_words(share) + (f" ({share.kind})" if share.low is not None else "")


def _bandwidth(paths: Sequence[PathRow]) -> Any:
    import altair as alt

    from dra_lab.pictures.charts.look import data_of, ink, side_axis, tips

    rows = [
        {
            "gpus": f"{who[0]} {counted(share.gpus, 'GPU')} {share.words}",
            "low": share.low or 0,
            "high": share.high or 0,
            "fill": fill,
            "words": _share_words(share),
            "sources": clean("; ".join(share.sources)) or "none",
            "against": clean("; ".join(share.against)) or "none",
            "note": clean(share.note),
        }
        for who, fill, share in paths
    ]
    base = alt.Chart(data_of(rows)).encode(
        y=alt.Y("gpus:N", sort=None, title="GPUs and their NICs", axis=side_axis(labelLimit=_LABELS)),
        tooltip=tips(dict.fromkeys(("gpus:N", "words:N", "sources:N", "against:N", "note:N"), "")),
    )
    title = "bandwidth left, against one PCIe root (ratio; published measurements)"
    tenths = alt.Axis(format=".1f", tickCount=7, labelExpr="datum.value > 1 ? '' : datum.label")
    ends = alt.X("low:Q", title=title, scale=alt.Scale(domain=[0, _AXIS_END], nice=False), axis=tenths)
    bars = base.mark_bar(stroke="#808080", height=12).encode(x=ends, x2="high:Q", color=alt.Color("fill:N", scale=None))
    ticks = base.mark_tick(thickness=3, height=14).encode(x=ends, color=alt.Color("fill:N", scale=None))
    last = base.mark_tick(thickness=3, height=14).encode(x="high:Q", color=alt.Color("fill:N", scale=None))
    texts = base.mark_text(align="left", dx=8, fontSize=10, color=ink()).encode(x="high:Q", text="words:N")
    return alt.layer(bars, ticks, last, texts).properties(width=_WIDTH, height={"step": 22})


_SCENARIO_WIDTH, _ROW = 460, 26
_LEAST = 0.06
"""The part of the longest bar below which a part has no room for its words."""


def scenarios_chart(answers: Iterable[ScenarioAnswer]) -> alt.TopLevelMixin:
    """Return a bar for each scenario, in their order: the replicas that are placed, by workload.

    Each part shows the letter of its workload and its number. The text after a bar shows how many of the wanted
    replicas are placed and whether more may fit, or why there is no answer. A plan of one claim counts as one replica.
    """
    from dra_lab.pictures.charts.look import empty, finish

    heading = "Replicas placed, by scenario and workload"
    found = [_placed(answer) for answer in answers]
    if not found:
        return empty(heading, "Nothing to show. Give the answers of plan_scenarios.")
    names = list(dict.fromkeys(name for _, placed, _, _ in found for name in placed))
    rows = [
        [scenario, *map(placed.get, names), sum(placed.values()), wanted, words]
        for scenario, placed, wanted, words in found
    ]
    plain = plain_table(("scenario", *map(clean, names), "placed", "wanted", ""), rows)
    return finish(_scenario_bars(found, names), heading, (), plain)


_Placed = tuple[str, Mapping[str, int], int, str]
"""A scenario: replicas placed by workload, how many were wanted, and what is known about more of them."""


def _placed(answer: ScenarioAnswer) -> _Placed:
    plan = answer.plan
    if plan is None:
        return answer.scenario, {}, 0, f"not answered: {answer.error}"
    missing = plan.goal(UNPLACED)
    if missing is None:
        words = "" if plan.proven else "not proven"
    elif missing.proven:
        words = ""
    else:
        words = "more may fit" if missing.bound is None else f"at most {plan.replicas - missing.bound:,}"
    return answer.scenario, plan.placed, plan.replicas, words


def _scenario_rows(
    found: Sequence[_Placed], states: Mapping[str, ChartState], longest: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the parts of the bars, and the words behind them."""
    rows, ends = list[dict[str, Any]](), list[dict[str, Any]]()
    for at, (scenario, placed, wanted, more) in enumerate(found):
        here, begin = {"row": at, "scenario": clean(scenario)}, 0
        for name, state in states.items():
            if count := placed.get(name, 0):
                words = f"{state.letter} {count:,}" if count / longest >= _LEAST else ""
                part = {"from": begin, "to": begin + count, "replicas": count, "workload": state.legend, "words": words}
                rows.append({**here, **part, "ink": state.text})
                begin += count
        words = ", ".join(filter(None, (f"{begin:,} of {wanted:,}" if wanted else "", more)))
        ends.append({**here, "to": begin, "words": clean(words)})
    return rows, ends


def _scenario_bars(found: Sequence[_Placed], names: Sequence[str]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, ink, side_axis, tips

    states = {
        name: ChartState(letter(at), clean(name), colour.fill, colour.text)
        for at, (name, colour) in enumerate(zip(names, cycle(PALETTE), strict=False))
    }
    most = max((sum(placed.values()) for _, placed, _, _ in found), default=0) or 1
    rows, words = _scenario_rows(found, states, most)
    side = alt.Y("scenario:N", sort=by_row(), title="scenario", axis=side_axis(labelLimit=220))
    scale = alt.Scale(domain=[0, most * 1.35], nice=False)
    amount = alt.X("from:Q", title="replicas placed", scale=scale, axis=alt.Axis(tickMinStep=1, format=",d"))
    legend = alt.Legend(orient="bottom", columns=4, symbolType="square", symbolStrokeColor="#808080", labelLimit=220)
    colours = alt.Scale(domain=[s.legend for s in states.values()], range=[s.fill for s in states.values()])
    parts = alt.Chart().encode(y=side)
    bars = parts.mark_bar(stroke="#808080", strokeWidth=1).encode(
        x=amount,
        x2="to:Q",
        color=alt.Color("workload:N", title="workload", scale=colours, legend=legend),
        tooltip=tips(dict.fromkeys(("scenario:N", "workload:N", "replicas:Q"), "")),
    )
    texts = parts.mark_text(fontSize=10, align="center").encode(
        x=alt.X("middle:Q", scale=scale), text="words:N", color=alt.Color("ink:N", scale=None)
    )
    texts = texts.transform_calculate(middle="(datum.from + datum.to) / 2")
    ends = alt.Chart(data_of(words)).mark_text(align="left", dx=6, fontSize=11, color=ink())
    behind = ends.encode(y=side, x=alt.X("to:Q", scale=scale), text="words:N")
    placed = alt.layer(bars, texts, data=data_of(rows))
    return alt.layer(placed, behind).properties(width=_SCENARIO_WIDTH, height={"step": _ROW})

"""What each scenario brings: how many replicas of every workload find a place, scenario beside scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_lab.model.goals import UNPLACED
from dra_lab.model.plan import Plan
from dra_lab.pictures.charts.amounts import ChartState
from dra_lab.pictures.letters import PALETTE, letter
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.words.document import clean, plain_table

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _ROW = 460, 26
_LEAST = 0.06
"""The part of the longest bar below which a part has no room for its words."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """One scenario: replicas placed by workload, how many were wanted, and what is known about more of them."""

    scenario: str
    placed: Mapping[str, int]
    wanted: int
    more_words: str

    @property
    def count(self) -> int:
        return sum(self.placed.values())


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
    names = list(dict.fromkeys(name for one in found for name in one.placed))
    head = ("scenario", *map(clean, names), "placed", "wanted", "")
    plain = plain_table(
        head, [[o.scenario, *(o.placed.get(n) for n in names), o.count, o.wanted, o.more_words] for o in found]
    )
    return finish(_chart(found, names), heading, (), plain)


def _placed(answer: ScenarioAnswer) -> _Placed:
    plan = answer.plan
    if plan is None:
        return _Placed(answer.scenario, {}, 0, f"not answered: {answer.error}")
    return _Placed(answer.scenario, dict(plan.placed), plan.replicas, _open(plan, plan.replicas))


def _open(plan: Plan, wanted: int) -> str:
    """Say how many replicas may fit at most, where it is not proven that no more do."""
    missing = plan.goal(UNPLACED)
    if plan.is_one_pod:
        return "" if plan.proven else "not proven"
    if missing is None or missing.proven:
        return ""
    return "more may fit" if missing.bound is None else f"at most {wanted - missing.bound:,}"


def _states(names: Sequence[str]) -> Mapping[str, ChartState]:
    colours = {name: PALETTE[at % len(PALETTE)] for at, name in enumerate(names)}
    return {
        name: ChartState(letter(at), clean(name), colours[name].fill, colours[name].text)
        for at, name in enumerate(names)
    }


def _rows(found: Sequence[_Placed], states: Mapping[str, ChartState]) -> list[dict[str, Any]]:
    longest = max((one.count for one in found), default=0) or 1
    rows = []
    for at, one in enumerate(found):
        here, begin = {"row": at, "scenario": clean(one.scenario)}, 0
        for name, state in states.items():
            count = one.placed.get(name, 0)
            words = f"{state.letter} {count:,}" if count / longest >= _LEAST else ""
            part = {"from": begin, "to": begin + count, "replicas": count, "workload": state.legend, "words": words}
            rows += [{**here, **part, "ink": state.text}] if count else []
            begin += count
    return rows


def _ends(found: Sequence[_Placed]) -> list[dict[str, Any]]:
    """Return what stands behind each bar."""
    return [
        {
            "row": at,
            "scenario": clean(one.scenario),
            "to": one.count,
            "words": clean(
                ", ".join(filter(None, (f"{one.count:,} of {one.wanted:,}" if one.wanted else "", one.more_words)))
            ),
        }
        for at, one in enumerate(found)
    ]


def _chart(found: Sequence[_Placed], names: Sequence[str]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, ink, side_axis

    states = _states(names)
    most = max((one.count for one in found), default=0) or 1
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
        tooltip=[alt.Tooltip("scenario:N"), alt.Tooltip("workload:N"), alt.Tooltip("replicas:Q")],
    )
    texts = parts.mark_text(fontSize=10, align="center").encode(
        x=alt.X("middle:Q", scale=scale), text="words:N", color=alt.Color("ink:N", scale=None)
    )
    texts = texts.transform_calculate(middle="(datum.from + datum.to) / 2")
    ends = alt.Chart(data_of(_ends(found))).mark_text(align="left", dx=6, fontSize=11, color=ink())
    behind = ends.encode(y=side, x=alt.X("to:Q", scale=scale), text="words:N")
    placed = alt.layer(bars, texts, data=data_of(_rows(found, states)))
    return alt.layer(placed, behind).properties(width=_WIDTH, height={"step": _ROW})

"""The steps of moves as Markdown: in their order, with commands that change nothing, and names that run nothing."""

from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.running import Move
from dra_lab.words.moves_document import steps_markdown


def steps(*moves: Move) -> str:
    return steps_markdown(Plan(PlanStatus.EMPTY, moves=moves)).partition("Steps:")[2]


def test_a_pod_that_stops_first_is_stopped_before_the_others_move():
    text = steps(Move("team/big", "a", "b"), Move("team/small", "b", "a", stops_first=True))
    assert [text.index(words) for words in ("Stop team/small", "Move team/big", "Move team/small")] == sorted(
        text.index(words) for words in ("Stop team/small", "Move team/big", "Move team/small")
    )
    assert text.count("kubectl delete pod small") == 1


def test_no_command_changes_anything():
    """Each kubectl line asks the server only."""
    lines = [line for line in steps(Move("team/big", "a", "b")).splitlines() if "kubectl" in line]
    assert len(lines) == 2
    assert all(line.endswith("--dry-run=server") for line in lines)


def test_a_name_is_no_command():
    assert "kubectl delete pod 'x;reboot' --namespace team" in steps(Move("team/x;reboot", "a", "b"))

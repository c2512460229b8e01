"""The strip of pending pods on the Python side: the reasons after a load, and the claims of one pod as the drawing."""

from __future__ import annotations

from pending.dumps import AMD, cluster, request, spec_of, waiting, write
from widget_messages import answered, say

from dra_lab import ClusterBar, Session


def test_pending_pods_have_their_reasons_and_open_as_the_drawing(tmp_path):
    """Nine GPUs are on no node; a press draws the claim, and one undo step brings the drawing back."""
    path = write(tmp_path, [*cluster(), *waiting(spec_of(request(count=9)), name="big-0")])
    session = Session(path)
    bar = ClusterBar(session)
    assert session.pending.wait(30)
    [row] = bar.pending
    assert (row["pod"], "9" in row["reason"], row["reason"].startswith("team-a")) == ("team-a/big-0", True, False)
    before = session.sketch
    say(bar, type="open-pod", pod="team-a/big-0")
    answered(session)
    [drawn] = session.sketch.requests
    assert (drawn.exactly.device_class_name, drawn.exactly.count, session.answer.fits) == (AMD, 9, False)
    session.undo()
    assert session.sketch == before
    bar.close()
    session.close()


def test_a_cluster_without_pending_pods_has_no_strip(session):
    """The sample has running pods only."""
    bar = ClusterBar(session)
    assert session.pending.wait(30)
    assert bar.pending == []
    bar.close()

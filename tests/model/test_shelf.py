"""What rooms work out of a cluster stands on a shelf, and of an earlier one only until it is taken over."""

import pytest

from dra_lab.model.shelf import Change, Shelf


def put(shelf):
    """Put something there."""
    shelf["key"] = "now"


@pytest.mark.parametrize("act", [put, lambda shelf: shelf.setdefault("key", "now")])
def test_what_is_put_takes_the_place_of_what_stood_there_before(act):
    """Of a large cluster both together are tens of megabytes."""
    before = Shelf()
    before["key"] = "before"
    shelf = before.after(Change())
    assert shelf.earlier("key")[0] == "before"
    act(shelf)
    assert (shelf["key"], shelf.earlier("key")) == ("now", None)
    # who looks at the cluster of before goes on with it
    assert before["key"] == "before"


def test_what_is_found_is_made_of_what_stood_there_before():
    """Once; who asks again gets the same."""
    before, change, made = Shelf(), Change(), []
    before.find("key", lambda earlier: [earlier])
    shelf = before.after(change)
    for _ in range(2):
        shelf.find("key", lambda earlier: made.append(earlier) or "now")
    assert (before["key"], shelf["key"], made) == ([None], "now", [([None], change)])


def test_what_a_change_comes_to_is_worked_out_once():
    """Also where it comes to nothing."""
    change, asked = Change(), []
    found = [change.find("nodes", lambda: asked.append(1)) for _ in range(3)]
    assert (found, asked) == ([None, None, None], [1])


def test_what_nobody_asks_for_is_let_go_after_three_snapshots():
    """A node that went is never asked for again."""
    shelf = Shelf()
    shelf["key"] = "first"
    kept = []
    for _ in range(5):
        shelf = shelf.after(Change())
        kept.append(shelf.earlier("key") is not None)
    assert kept == [True, True, True, False, False]

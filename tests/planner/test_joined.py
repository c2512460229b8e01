"""Several claims as one drawing."""

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.names import part_of
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.planner.pod_claims import join_sketches


def test_joined_claims_keep_their_requests_and_links_apart():
    """Requests of the same name in two claims stay two requests, and a link ties those of its own claim."""
    requests = tuple(DeviceRequest(name, ExactDeviceRequest("c")) for name in ("a", "b"))
    sketch = ClaimSketch("x", requests, (Link("l", ("a", "b")),))
    joined = join_sketches({"one": sketch, "two": sketch})
    assert [request.name for request in joined.requests] == ["one:a", "one:b", "two:a", "two:b"]
    assert [link.requests for link in joined.links] == [("one:a", "one:b"), ("two:a", "two:b")]


def test_the_part_of_a_joined_reference_is_found_again():
    """An alternative of a joined request keeps its own name after the part's."""
    assert part_of("one:a/x") == ("one", "a/x")
    assert part_of("a/x") == ("", "a/x")

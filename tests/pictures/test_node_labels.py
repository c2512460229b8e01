"""Short names of nodes."""

from __future__ import annotations

import pytest

from dra_lab.pictures.racks import short_labels


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["ip-10-0-128-17.ec2.internal", "ip-10-0-140-52.ec2.internal"], ["128-17", "140-52"]),
        (["node-01", "node-02"], ["node-01", "node-02"]),
        (["ip-10-0-1.ec2.internal", "ip-10-0-2.ec2.internal"], ["10-0-1", "10-0-2"]),
        (["a", "b-c"], ["a", "b-c"]),
        (["x.one", "x.two"], ["x.one", "x.two"]),
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.1", "10.0.0.2"]),
        (["only.example.org"], ["only"]),
    ],
)
def test_labels_lose_what_they_share(names: list[str], labels: list[str]):
    """A tile shows what tells nodes apart, and at least four characters."""
    assert short_labels(names) == labels


def test_short_labels_stay_different():
    """No two nodes get the same label."""
    names = [f"rack-{r}-node-{n}.dc.example" for r in range(3) for n in range(4)]
    assert len(set(short_labels(names))) == len(names)

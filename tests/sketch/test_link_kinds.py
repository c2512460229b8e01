"""Every reader of links uses the properties of a kind of link, which are stated once."""

from __future__ import annotations

import pytest
from random_devices import GPU, ROOT

from dra_lab import ClaimSketch, How, Link
from dra_lab.errors import SketchError
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import LINK_KINDS, constrained
from dra_lab.model.sketch_rules import check_sketch


def tied(how: How, count: int = 2) -> ClaimSketch:
    """Draw some requests for a GPU with one link on the PCIe root."""
    exactly = ExactDeviceRequest(device_class_name=GPU, count=1)
    requests = tuple(DeviceRequest(name=f"gpu-{n}", exactly=exactly) for n in range(count))
    return ClaimSketch(requests=requests, links=(Link(name="tie", requests=tuple(r.name for r in requests), how=how),))


@pytest.mark.parametrize("how", list(How))
def test_a_link_has_as_many_ends_as_its_kind_needs(how):
    """A link with fewer ends is refused."""
    with pytest.raises(SketchError):
        check_sketch(tied(how, LINK_KINDS[how].least_ends - 1))


@pytest.mark.parametrize(
    "constraint", [DeviceConstraint(match_attribute=ROOT), DeviceConstraint(distinct_attribute=ROOT)]
)
def test_a_constraint_is_the_kind_that_is_written_with_it(constraint):
    """Reading a constraint gives the kind of link that is written as this constraint."""
    how, attribute = constrained(constraint)
    assert (attribute, LINK_KINDS[how].distinct) == (ROOT, constraint.match_attribute is None)

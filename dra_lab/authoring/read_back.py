"""A claim to a drawing: constraints become links, everything else stays as it was written."""

from __future__ import annotations

from dra_lab.authoring.names import Names
from dra_lab.model.claims import DeviceConstraint, ResourceClaimSpec
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.sketch import ClaimSketch, How, Link, check_sketch


def sketch_of(spec: ResourceClaimSpec, name: str) -> ClaimSketch:
    """Return the drawing that means the same as a claim's spec.

    matchAttribute becomes a must-link "together", distinctAttribute "apart"; a constraint without requests ties all of
    them, and one with both attributes is matchAttribute alone, as kube-scheduler reads it (dra-semantics 1.13). Only
    `resource.kubernetes.io/pcieRoot` becomes a level: every driver publishes it under that one name. The others stay
    attributes, because a level would also use what other names publish or what is derived, and the plan would then
    promise what this claim cannot get. Alternatives, tolerations and configuration are kept. Raises SketchError where
    names are no DNS labels, are there twice, or a constraint names no request.
    """
    devices = spec.devices
    names = Names()
    everything = tuple(request.name for request in devices.requests)
    links = tuple(
        link_of(constraint, names.one(f"link-{n}"), everything) for n, constraint in enumerate(devices.constraints, 1)
    )
    sketch = ClaimSketch(name=name, requests=devices.requests, links=links, config=devices.config)
    check_sketch(sketch)
    return sketch


def link_of(constraint: DeviceConstraint, name: str, everything: tuple[str, ...]) -> Link:
    """Return a constraint as a link of that name; `everything` are the requests that one without requests ties."""
    together = constraint.match_attribute is not None
    attribute = constraint.match_attribute if together else constraint.distinct_attribute
    where = "pcieRoot" if attribute == PCIE_ROOT and together else attribute or ""
    how = How.TOGETHER if together else How.APART
    return Link(name=name, requests=constraint.requests or everything, where=where, how=how)

"""A claim to a drawing: constraints become links, everything else stays as it was written."""

from __future__ import annotations

from dra_lab.model.claims import DeviceClaim, DeviceConstraint, ResourceClaimSpec
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LINK_KINDS, ClaimSketch, How, Link, constrained
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.object_names import ObjectNames
from dra_lab.sketch.release_gaps import fit_to_release


def sketch_of(spec: ResourceClaimSpec, name: str) -> ClaimSketch:
    """Return the drawing that means the same as a claim's spec.

    matchAttribute becomes a must-link "together", distinctAttribute "apart"; a constraint without requests ties all of
    them, and one with both attributes is matchAttribute alone, as kube-scheduler reads it (docs/semantics.md 1.13).
    Only `resource.kubernetes.io/pcieRoot` becomes a level: every driver publishes it under that one name. The others
    stay attributes, because a level would also use what other names publish or what is derived, and the plan would then
    promise what this claim cannot get. Alternatives, tolerations and configuration are kept. Raises SketchError where
    names are no DNS labels, are there twice, or a constraint names no request.
    """
    devices = spec.devices
    names = ObjectNames()
    everything = tuple(request.name for request in devices.requests)
    links = tuple(
        link_of(constraint, names.one(f"link-{n}"), everything) for n, constraint in enumerate(devices.constraints, 1)
    )
    sketch = ClaimSketch(name=name, requests=devices.requests, links=links, config=devices.config)
    check_sketch(sketch)
    return sketch


def link_of(constraint: DeviceConstraint, name: str, everything: tuple[str, ...]) -> Link:
    """Return a constraint as a link of that name; `everything` are the requests that one without requests ties."""
    how, attribute = constrained(constraint)
    where = "pcieRoot" if attribute == PCIE_ROOT and LINK_KINDS[how].near else attribute
    return Link(name=name, requests=constraint.requests or everything, where=where, how=how)


def spec_of(sketch: ClaimSketch, release: KubernetesRelease) -> ResourceClaimSpec:
    """Return the claim that `sketch_of` read, as the API server of a release keeps it: its requests, every constraint.

    `compile_claim` writes what serves the drawing best. It leaves out a constraint that the devices cannot keep, and
    splits a request for more CPUs than a device has. A claim that a person wrote stays as it is.
    """
    requests = tuple(fit_to_release(request, release)[0] for request in sketch.requests)
    constraints = tuple(_constraint(link) for link in sketch.links)
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests, constraints=constraints, config=sketch.config))


def _constraint(link: Link) -> DeviceConstraint:
    attribute = PCIE_ROOT if link.where == "pcieRoot" else link.where
    if link.how is How.APART:
        return DeviceConstraint(requests=link.requests, distinct_attribute=attribute)
    return DeviceConstraint(requests=link.requests, match_attribute=attribute)

"""A claim to a drawing: read from its spec, or taken over into a drawing after an edit of its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.claims import DeviceClaim, DeviceConstraint, DeviceRequest, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import PCIE_ROOT, split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LINK_KINDS, ClaimSketch, How, Link, constrained
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.compile import CompiledClaim, compile_claim, fit_to_release
from dra_lab.sketch.object_names import ObjectNames


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


def taken_over(
    sketch: ClaimSketch, edited: ResourceClaimSpec, cluster: Cluster, release: KubernetesRelease
) -> ClaimSketch:
    """Return the drawing that compiles to an edited claim and keeps as much of a drawing as the edit left alone.

    Preferences, pairwise links and levels stand in a drawing only: they stay where nothing of what was written for them
    was touched. Where something was, the requests and constraints are taken as they are written. The result always
    compiles to the edited claim where the reading of the claim alone does (`read_back.sketch_of`). Raises SketchError
    for a claim that is inconsistent in itself.
    """
    literal = sketch_of(edited, sketch.name)
    wanted = compile_claim(literal, cluster, release).spec.devices
    before = compile_claim(sketch, cluster, release)
    if wanted == before.spec.devices:
        return sketch
    mixed = _Mix(sketch, before, wanted).sketch()
    try:
        same = compile_claim(mixed, cluster, release).spec.devices == wanted
    except DraLabError:
        same = False
    return mixed if same else literal


class _Mix:
    """Decides, request by request and link by link, what stays as it was drawn."""

    def __init__(self, sketch: ClaimSketch, before: CompiledClaim, after: DeviceClaim) -> None:
        self.drawn = sketch
        self.after = after
        self.old = {request.name: request for request in before.spec.devices.requests}
        self.new = {request.name: request for request in after.requests}
        self.written: dict[str, list[str]] = {request.name: [] for request in sketch.requests}
        self.source = {name: split_request(before.origin.get(name, name))[0] for name in self.old}
        for name in self.old:
            self.written.setdefault(self.source[name], []).append(name)
        was, now = Counter(map(_key, before.spec.devices.constraints)), Counter(map(_key, after.constraints))
        self.gone = [c for c in before.spec.devices.constraints if now[_key(c)] < was[_key(c)]]
        self.kept = [c for c in before.spec.devices.constraints if now[_key(c)] >= was[_key(c)]]
        self.added = [c for c in after.constraints if now[_key(c)] > was[_key(c)]]

    def sketch(self) -> ClaimSketch:
        spelled = {name for name, written in self.written.items() if self._broken(name, written)}
        dropped: set[str] = set()
        while True:
            size = len(spelled) + len(dropped)
            dropped |= {link.name for link in self.drawn.links if self._lost(link, spelled)}
            touched = [link for link in self.drawn.links if link.name in dropped]
            spelled |= {name for link in touched for name in map(_main, link.requests) if self._many(name)}
            ends = {_main(end) for c in self.added for end in c.requests}
            spelled |= {self.source[end] for end in ends if end in self.source and self._many(self.source[end])}
            if len(spelled) + len(dropped) == size:
                break
        links = tuple(link for link in self.drawn.links if link.name not in dropped)
        return replace(
            self.drawn,
            requests=tuple(self._requests(spelled)),
            links=(*links, *self._read(links, dropped)),
            config=self.after.config,
        )

    def _many(self, name: str) -> bool:
        """Say whether a request is written as several, or as alternatives that were not drawn."""
        written = self.written.get(name, [])
        if written != [name]:
            return True
        return len(self.old[name].first_available) != len(self.drawn.request(name).first_available)

    def _broken(self, name: str, written: Collection[str]) -> bool:
        """Say whether a request that is written as several was touched, or is no longer there."""
        if any(one not in self.new for one in written):
            return True
        return self._many(name) and any(self.new[one] != self.old[one] for one in written)

    def _lost(self, link: Link, spelled: Collection[str]) -> bool:
        if any(_main(end) in spelled for end in link.requests):
            return True
        mine = {_main(end) for end in link.requests}
        return any({self.source.get(_main(end), "") for end in c.requests} <= mine for c in self.gone)

    def _requests(self, spelled: Collection[str]) -> Iterable[DeviceRequest]:
        """Yield the requests in the order in which they stand in the claim now."""
        done: set[str] = set()
        for name, request in self.new.items():
            source = self.source.get(name)
            if source is None or source in spelled:
                yield request
            elif source not in done:
                done.add(source)
                drawn = self.drawn.request(source)
                yield drawn if request == self.old[name] else replace(request, name=source)

    def _read(self, links: Iterable[Link], dropped: Collection[str]) -> Iterable[Link]:
        """Yield links for the constraints that no drawn link represents any more."""
        names = ObjectNames(link.name for link in links)
        lost = [link for link in self.drawn.links if link.name in dropped]
        orphans = [c for c in self.kept if any(self._owns(link, c) for link in lost)]
        everything = tuple(self.new)
        for number, constraint in enumerate((*orphans, *self.added), 1):
            yield link_of(constraint, names.one(f"link-{number}"), everything)

    def _owns(self, link: Link, constraint: DeviceConstraint) -> bool:
        mine = {_main(end) for end in link.requests}
        return {self.source.get(_main(end), "") for end in constraint.requests} <= mine


def _main(end: str) -> str:
    return split_request(end)[0]


def _key(constraint: DeviceConstraint) -> tuple[object, ...]:
    return constraint.requests, constraint.match_attribute, constraint.distinct_attribute

"""A claim that was edited as text, taken over into its drawing: what the edit left alone stays as it was drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.claims import DeviceClaim, DeviceConstraint, DeviceRequest, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.sketch.compile import CompiledClaim, compile_claim
from dra_lab.sketch.object_names import ObjectNames
from dra_lab.sketch.read_back import link_of, sketch_of


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

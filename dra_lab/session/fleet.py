"""Fleet: the workloads of a session and its what-if layers, and what the session's job answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.errors import Cancelled, DraLabError, InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer
from dra_lab.model.plan import Plan
from dra_lab.model.question import Question
from dra_lab.model.sketch import ClaimSketch, GangDrawing, PodDrawing, claims_of, pod_drawing
from dra_lab.model.sketch_rules import MOST_PODS, check_pods
from dra_lab.session.answers import Answer, fleet_answers, pods_of, stranded_devices
from dra_lab.session.drawings import fitting_pins, fleet_cluster, layer_of, read_workload
from dra_lab.session.history import Content
from dra_lab.session.job import Job, Run, refusal_of
from dra_lab.topology.layered import with_layers

if TYPE_CHECKING:
    from dra_lab.planner.fleet.why_stranded import WhyStranded
    from dra_lab.session.answering import Answering


class SessionFleet:
    """The workloads of a session with their answer. Each change is one undo step and is stored in the plan file.

    Without workloads, the drawing is the only one, with one pod. `answer` is to `question`, the fleet's part of that of
    the session, or an earlier one, and grows while it is worked out (`stale`). `refusal` says why it has none.
    `unchanged` is the last complete answer to these workloads without layers. The fleet is planned when its mode is
    shown, while `is_exported`, or while `plan` waits for it.
    """

    def __init__(self, session: Answering) -> None:
        """Begin without a question."""
        self._session = session
        self.stranding = Job["WhyStranded"](lambda: session.events.emit("fleet-why"))
        self._stranded: tuple[Answer, str] | None = None
        self.question: Question | None = None
        self.answer: Answer | None = None
        self.refusal: DraLabError | None = None
        self._ended: Question | None = None  # the latest one that was answered, refused or stopped
        self._run: tuple[Run[Answer], Question] | None = None  # what is being answered
        self._on: tuple[Cluster, object, Cluster] | None = None
        self._is_wanted = self.is_exported = False
        self.unchanged: Answer | None = None

    # -- what is shown

    @property
    def workloads(self) -> tuple[PodDrawing, ...]:
        """Return the workloads; the drawing alone if there is none."""
        return self._content.workloads

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Return the what-if changes, in their order."""
        return self._session.history.present.layers

    @property
    def stale(self) -> bool:
        """Say whether the answer is for another question, or not complete yet."""
        return self.question is not self._ended

    @property
    def is_planned_now(self) -> bool:
        """Say whether the job of the session is at the fleet."""
        return self._run is not None

    @property
    def is_current(self) -> bool:
        """Say whether the answer is for the present question, if it is complete or not."""
        return self.answer is not None and self.answer.question == self.question

    @property
    def editing(self) -> str:
        """Return the workload whose claim is the drawing, "" if the drawing is none of them."""
        return self._content.editing

    @property
    def _content(self) -> Content:
        """Return the content, with the drawing as the only workload if there is none."""
        content = self._session.history.present
        if content.workloads or not content.sketch.requests:
            return content
        name = free_name(content.sketch.name, ())
        return replace(content, workloads=(PodDrawing(pod=name, claims=claims_of(content.sketch)),), editing=name)

    # -- workloads

    def add(self, claims: ClaimSketch | Iterable[ClaimSketch], replicas: int = 1, name: str = "") -> str:
        """Add a workload and return its name. Raises SketchError if it cannot be planned."""
        made = claims_of(claims) if isinstance(claims, ClaimSketch) else tuple(claims)
        drawn = claims.name if isinstance(claims, ClaimSketch) else made[0].name if made else "pod"
        return self._add(PodDrawing(pod=name or drawn, claims=made, replicas=replicas))

    def _add(self, pod: PodDrawing) -> str:
        content = self._content
        own = free_name(pod.pod, [other.pod for other in content.workloads])
        self._change(replace(content, workloads=(*content.workloads, replace(pod, pod=own))))
        return own

    def add_drawing(self) -> str:
        """Add the drawing as another workload and return its name. Raises SketchError if nothing is drawn."""
        if not self._session.history.present.sketch.requests:
            raise InputError("nothing is drawn; draw a request in Plan, then add the drawing")
        return self.add(self._session.history.present.sketch)

    def add_file(self, source: str) -> str:
        """Add the workload of a file (drawing, claim, template, Pod, Deployment) or `sample:NAME/EXAMPLE`.

        Returns its name. Raises SourceError, ManifestError or SketchError for what cannot be read, and InputError for
        what pods of a fleet cannot have.
        """
        return self._add(read_workload(source, self._session.cluster, self._session.release))

    def remove(self, name: str) -> None:
        """Remove a workload; the drawing on the canvas stays. Raises InputError for an unknown one."""
        self.workload(name)
        content = self._content
        editing = "" if content.editing == name else content.editing
        rest = tuple(pod for pod in content.workloads if pod.pod != name)
        self._change(replace(content, workloads=rest, editing=editing))

    def rename(self, name: str, to: str) -> None:
        """Give a workload another name. Raises InputError for an unknown one, SketchError for a wrong or taken name."""
        self.workload(name)
        content = self._content
        workloads = tuple(replace(pod, pod=to) if pod.pod == name else pod for pod in content.workloads)
        editing = to if content.editing == name else content.editing
        self._change(replace(content, workloads=workloads, editing=editing))

    def set_replicas(self, name: str, replicas: int) -> None:
        """Ask for another number of pods; pins that are too many are removed. Raises InputError."""
        if not 0 <= replicas <= MOST_PODS:
            raise InputError(f"{replicas:,} pods: enter 0 to {MOST_PODS:,}")
        pod = self.workload(name)
        self._replace(replace(pod, replicas=replicas, pins=fitting_pins(pod.pins, replicas)))

    def set_gang(self, name: str, gang: GangDrawing | None) -> None:
        """Make a workload one gang, change its gang, or with None make it ordinary pods again.

        A new gang has no pins: the planner chooses its nodes. A minimum of all pods is none of its own. Raises
        InputError or SketchError.
        """
        pod = self.workload(name)
        if gang is None:
            self._replace(replace(pod, gang=None, replicas=min(MOST_PODS, pods_of(pod))))
        else:
            least = gang.min if gang.min and gang.min < gang.size else None
            gang = replace(gang, min=least, queue=gang.queue.strip())
            self._replace(replace(pod, gang=gang, pins={}, replicas=1 if pod.gang is None else pod.replicas))

    @property
    def drawn_gang(self) -> GangDrawing | None:
        """Return the gang of the workload that is drawn, None if it is none."""
        content = self._session.history.present
        return next((pod.gang for pod in content.workloads if pod.pod == content.editing), None)

    def set_drawn_gang(self, gang: GangDrawing | None) -> None:
        """Make the drawn pod one gang, change it, or with None make it ordinary pods again; one undo step.

        A drawing that is no workload becomes one. Raises InputError if nothing is drawn, SketchError for a wrong size.
        """
        content = self._session.history.present
        if self.editing:
            self.set_gang(self.editing, gang)
        elif not content.sketch.requests:
            raise InputError("nothing is drawn; draw a request first, then keep its pods together")
        elif gang is not None:
            name = free_name(content.sketch.name, [other.pod for other in content.workloads])
            pod = PodDrawing(pod=name, claims=claims_of(content.sketch), gang=gang)
            self._change(replace(content, workloads=(*content.workloads, pod), editing=name))

    def pin(self, name: str, node: str, pods: int = 1) -> None:
        """Run some pods of a workload on a node, 0 for none that must. Raises InputError."""
        self._session.cluster.node_named(node)
        pod = self.workload(name)
        pins = {**pod.pins, node: pods}
        pins = {other: count for other, count in pins.items() if count > 0}
        if sum(pins.values()) > pod.replicas:
            raise InputError(f"{name} has {pod.replicas:,} pods, and {sum(pins.values()):,} would be pinned")
        self._replace(replace(pod, pins=pins))

    def move(self, name: str, from_node: str, to_node: str) -> None:
        """Pin one more pod of a workload to a node than the plan has there, taken from a pin of `from_node` first."""
        self._session.cluster.node_named(to_node)
        pod = self.workload(name)
        replicas = self.answer.plan.on_node if self.answer is not None else {}
        here = {node: sum(one.workload == name for one in replicas.get(node, ())) for node in (from_node, to_node)}
        pins = {**pod.pins, to_node: min(pod.replicas, max(here[to_node], pod.pins.get(to_node, 0)) + 1)}
        if here[from_node] <= pins.get(from_node, 0):
            pins[from_node] = max(0, pins.get(from_node, 0) - 1)
        pins = {node: count for node, count in pins.items() if count}
        self._replace(replace(pod, pins=fitting_pins(pins, pod.replicas, first=to_node)))

    def open(self, name: str) -> None:
        """Make the claims of a workload the drawing: what is drawn then changes them. Raises InputError."""
        pod = self.workload(name)
        self._change(replace(self._content, sketch=pod_drawing(name, pod.claims), editing=name))

    def workload(self, name: str) -> PodDrawing:
        """Return a workload. Raises InputError with the most similar name if there is none of that name."""
        names = [pod.pod for pod in self.workloads]
        if name not in names:
            raise InputError(f"there is no workload {name!r}{did_you_mean(name, names)}")
        return self.workloads[names.index(name)]

    # -- what if

    def what_if(self, *changes: Layer | str) -> None:
        """Add what-if changes, as layers or as text (`drain node-1`). Raises InputError, keeping the present ones."""
        added = [change if isinstance(change, Layer) else layer_of(change) for change in changes]
        with_layers(self._session.cluster, added)
        self._change(replace(self._session.history.present, layers=(*self.layers, *added)))

    def remove_layer(self, number: int, count: int = 1) -> None:
        """Remove a change, or some in a row, by its position, from 0. Raises InputError if there is none."""
        if not 0 <= number < len(self.layers):
            raise InputError(f"there is no change {number}; there are {len(self.layers)}")
        rest = (*self.layers[:number], *self.layers[number + count :])
        self._change(replace(self._session.history.present, layers=rest))

    # -- the answer

    def plan(self) -> Plan:
        """Return the plan of the workloads; waits for it. Raises what the planner raises, and Cancelled."""
        session, answer, self._is_wanted = self._session, self.answer, True
        try:
            session.ask_fleet(again=answer is None or not answer.complete or not self.is_current)
            return session.finished(self)
        finally:
            self._is_wanted = False

    def why_stranded(self, node: str) -> WhyStranded | None:
        """Return why devices of a node are stranded after the answer, None while that is worked out."""
        known = self._stranded
        if self.answer is None:
            return None
        if known is None or known[0] is not self.answer or known[1] != node:
            self._stranded, question, plan = (self.answer, node), self.answer.question, self.answer.plan
            self.stranding.drop()
            self.stranding.start(lambda _run: stranded_devices(question, plan, node))
        return self.stranding.answer

    def take_question(self, *, again: bool = False) -> bool:
        """Take over the session's present question, `again` also if it was stopped; say whether it is to be planned."""
        session = self._session
        try:
            on = self._planned_on()
        except InputError as error:  # these workloads cannot be planned together
            self.question = self._ended = self.unchanged = None
            self.refusal = error
            session.events.emit("fleet")
            return False
        question = replace(session.question, sketch=None, node="", movable=None, cluster=on)
        if question != self.question:
            plain = self.unchanged
            if plain is not None and (plain.question.pods != question.pods or not self.layers):
                self.unchanged = None
            self.question, self.refusal = question, None
        elif again and not self.stale:
            self._ended = None
        run = self._run
        is_taken = run is not None and run[0].is_latest and run[1] is self.question
        return self._is_due and not is_taken

    @property
    def _is_due(self) -> bool:
        session = self._session
        modes = ("fleet", "compare") if session.history.present.workloads else ("fleet",)
        return self.stale and (self._is_wanted or self.is_exported or session.mode in modes)

    def answer_question(self, run: Run[Answer]) -> None:
        """Answer the question if that is to be done, and show the answer as it grows."""
        session, found, refusal = self._session, dict[str, Any](), None
        with session.lock:
            question = self.question
            if question is None or not self._is_due or not run.is_latest:
                return
            mine = self._run = run, question
        session.events.emit("fleet")
        try:
            if run.stop.is_set():
                raise Cancelled("cancelled before there was any answer")
            for answer in fleet_answers(question, run, session.time_limit):
                if not self._show(mine, answer=answer, refusal=None):
                    break
                found = {"unchanged": answer} if answer.complete and not self.layers else {}
        except Exception as error:  # noqa: BLE001  a defect of ours too: the rest of the session goes on
            refusal = refusal_of(error)
        if self._run is mine:
            self._run = None
        self._show(mine, _ended=question, refusal=refusal, **found)

    def _show(self, of: tuple[Run[Answer], Question], **values: Any) -> bool:
        """Set what is known, unless something newer was asked for."""
        run, question = of
        with self._session.lock:
            if not run.is_latest or self.question is not question:
                return False
            for name, value in values.items():
                setattr(self, name, value)
        self._session.events.emit("fleet")
        return True

    def forget(self) -> None:
        """Have no question: an answer for one cluster is never shown under another."""
        with self._session.lock:
            self.question = self._ended = self.answer = self.refusal = self.unchanged = None

    def _planned_on(self) -> Cluster:
        """Return the cluster with the nodes and classes of the workloads, the same one for the same workloads."""
        about = [(pod.nodes, pod.classes) for pod in self.workloads]
        if self._on is None or self._on[0] is not self._session.cluster or self._on[1] != about:
            self._on = self._session.cluster, about, fleet_cluster(self._session.cluster, self.workloads)
        return self._on[2]

    def _replace(self, by: PodDrawing) -> None:
        content = self._content
        self._change(replace(content, workloads=tuple(by if one.pod == by.pod else one for one in content.workloads)))

    def _change(self, content: Content) -> None:
        check_pods(content.workloads)
        self._session.change(content)


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name as Kubernetes allows it, numbered if it is taken."""
    from dra_lab.sketch.object_names import object_name

    base = object_name(name)[:50].strip("-.").replace(".", "-") or "pod"
    return next(made for made in numbered(base, "-") if made not in taken)


def numbered(base: str, mark: str = " ") -> Iterable[str]:
    """Yield a name, then the name with numbers from 2."""
    yield base
    number = 2
    while True:
        yield f"{base}{mark}{number}"
        number += 1

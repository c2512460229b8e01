"""HardwareView: the nodes that serve the drawing, and one of them as a picture of its hardware."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from dra_lab.model.plan import Plan
from dra_lab.session import EXAMPLE_CLUSTER, Session
from dra_lab.sketch.by_example import Example
from dra_lab.widgets import messages
from dra_lab.widgets.device_rows import equal_nodes, fleet
from dra_lab.widgets.example_values import ExampleRow, example_rows
from dra_lab.widgets.fleet_values import Fleet
from dra_lab.widgets.kind_rows import DriverKindRow, driver_kind_rows
from dra_lab.widgets.session_view import STATIC, Actions, latest_plan
from dra_lab.widgets.stored_output import picture_parts
from dra_lab.widgets.trace_mode import TraceMode
from dra_lab.words.document import Part

SHOWN = ("best", "scheduler", "plain", "both")
_NO_SLICES = "This cluster has no ResourceSlices, so there is no hardware to show."
_TRY_SAMPLE = "Try a sample"


class HardwareView(TraceMode):
    """The fleet strip over the picture of one node.

    `svg` is the picture, `node` whose it is, `caption` what else is known of it ("one of 214 identical nodes"). `width`
    is how many pixels the browser has for the picture, 0 for the usual width: text is never scaled. `show` chooses what
    is drawn: the best allocation, kube-scheduler's with the manifest or without links, or both over each other. If the
    manifest makes kube-scheduler take the best, both means without links, and the view says so. `highlight` is a
    request's name or a device id. Both sides write these two. `pinned` is the node that a person planned on. `graph` is
    the tree of PCIe roots and NUMA nodes as SVG, "" until asked. The browser sends the messages of `actions`: to show
    or pin a node, to show or close the graph, to load a sample. With devices chosen on the picture it sends
    `by-example`, answered in `examples`. `take-example` makes one of them the drawing or a part of it. `kinds` are the
    node's drivers without a data file of dra_lab; `set-kind` corrects the guessed kind of one for this session.

    Example:
        >>> from dra_lab import HardwareView, Session
        >>> view = HardwareView(Session("sample:two-sockets"))
        >>> view.show
        'best'
    """

    _esm = STATIC / "hardware_view.js"
    _css = STATIC / "hardware_view.css"

    svg = traitlets.Unicode("").tag(sync=True)
    node = traitlets.Unicode("").tag(sync=True)
    pinned = traitlets.Unicode("").tag(sync=True)
    caption = traitlets.Unicode("").tag(sync=True)
    show = traitlets.Enum(SHOWN, "best").tag(sync=True)
    fleet = traitlets.Dict().tag(sync=True, value=Fleet)
    stale = traitlets.Bool(False).tag(sync=True)
    empty = traitlets.Unicode("").tag(sync=True)
    empty_action = traitlets.Unicode("").tag(sync=True)
    graph = traitlets.Unicode("").tag(sync=True)
    kinds: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[DriverKindRow])
    examples: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[ExampleRow])

    def _follow(self, session: Session) -> None:
        self._looked = ""
        self._looked_for: tuple[object, ...] = ()
        self._examples: tuple[Example, ...] = ()
        self.observe(lambda _change: self._show_node(), ["show", "width"])
        self._when(session, self._show_fleet, "cluster", "plan")
        # The answer to another drawing shows itself: looking at another node ends with the next change of that.
        self._when(session, self._show_answer, "cluster", "plan")
        self._endings.append(session.on("look", self._show_looked_at))
        self._endings.append(session.on("show", self._show_allocation))
        self._when(session, self._show_stale, "plan")
        self._when(session, self._soon(self._show_stale), "solving")
        self._follow_light(session)
        self._follow_trace(session)

    def stored_parts(self) -> list[Part]:
        """Return the sentence of the answer with the picture of its node."""
        return picture_parts(self._session) if self._session is not None else []

    def _show_fleet(self) -> None:
        if (session := self._session) is not None:
            self._assign(
                fleet=fleet(session.cluster, latest_plan(self._session), session.drawing.node),
                pinned=session.drawing.node,
            )

    def _show_answer(self) -> None:
        if (session := self._session) is not None:
            # not with each answer: those of a cluster that is followed come every second
            drawing = session.drawing
            question = session.sketch, session.release, drawing.node, drawing.goals, session.cluster.name
            if question != self._looked_for:
                self._looked, self._looked_for = "", question
                session.look_at("")
        self._show_node()

    def _show_looked_at(self) -> None:
        if self._session is not None and self._session.looked_at[0] not in ("", self.node):
            self._looked = self._session.looked_at[0]
            self._show_node()

    def _show_allocation(self) -> None:
        if self._session is not None:
            self.show = self._session.shown

    def _show_stale(self) -> None:
        if self._session is not None:
            self.stale = self._session.stale

    def _show_node(self) -> None:
        from dra_lab.pictures.device_states import over_each_other
        from dra_lab.pictures.hardware import hardware_svg

        if (session := self._session) is None:
            return
        cluster, plan = session.cluster, latest_plan(self._session)
        if not cluster.slices:
            self._assign(svg="", node="", caption="", kinds=(), empty=_NO_SLICES, empty_action=_TRY_SAMPLE)
            return
        wanted = (self._looked, session.drawing.node, _node_of(plan), *cluster.node_names[:1])
        name = next((node for node in wanted if node in cluster.node_by_name), "")
        show = over_each_other(plan) or "both" if self.show == "both" and plan is not None else self.show
        svg = (
            ""
            if not name
            else hardware_svg(cluster, name, plan=plan, show=show, sketch=session.sketch, width=self._width())
        )
        kinds = driver_kind_rows(cluster, name) if name else ()
        self._assign(svg=svg, node=name, caption=self._caption(plan, name), kinds=kinds, empty="", empty_action="")
        if self.graph:
            self._open_graph()

    def _caption(self, plan: Plan | None, name: str) -> str:
        equal = equal_nodes(plan, name)
        parts = [f"one of {equal:,} identical nodes"] if equal > 1 else []
        if self.show == "both" and plan is not None and plan.fits and plan.node == name:
            parts += _compared(plan)
        return "; ".join(parts)

    # ------------------------------------------------------------ what the person did

    def _look(self, message: messages.ShowNode) -> None:
        if self._session is not None:
            self._looked = message.name
            if message.name != self.node:
                self._show_node()
            self._session.look_at(message.name, message.device)

    def _pin(self, message: messages.PinNode) -> None:
        if self._session is not None:
            self._session.pin(message.name)

    def _open_graph(self, _message: messages.Graph | None = None) -> None:
        from dra_lab.pictures.tree_svg import tree_svg

        if self._session is not None and self.node:
            self.graph = tree_svg(self._session.cluster, self.node, latest_plan(self._session))

    def _close_graph(self, _message: messages.CloseGraph) -> None:
        self.graph = ""

    def _find_examples(self, message: messages.ByExample) -> None:
        from dra_lab.sketch.by_example import by_example
        from dra_lab.topology.locality import localities

        if (session := self._session) is None:
            return
        wanted = set(message.devices)
        self._examples = ()
        try:
            if wanted and self.node in session.cluster.node_by_name:
                here = {str(device): device for device in localities(session.cluster, self.node)}
                devices = [device for text, device in here.items() if text in wanted]
                self._examples = by_example(session.cluster, self.node, devices, session.release, session.sketch.name)
        finally:
            self._assign(examples=example_rows(self._examples))

    def _take_example(self, message: messages.TakeExample) -> None:
        from dra_lab.sketch.by_example import added_to

        if self._session is None or not 0 <= message.number < len(self._examples):
            return
        sketch = self._examples[message.number].sketch
        self._session.edit(added_to(self._session.sketch, sketch) if message.add else sketch)

    def _set_kind(self, message: messages.SetKind) -> None:
        if self._session is not None:
            self._session.set_kind(message.driver, message.kind)

    def _load_sample(self, _message: messages.LoadSample) -> None:
        if self._session is not None:
            self._session.load(EXAMPLE_CLUSTER)

    actions: ClassVar[Actions] = {
        **TraceMode.actions,
        **TraceMode.trace_actions,
        messages.ShowNode: _look,
        messages.PinNode: _pin,
        messages.Graph: _open_graph,
        messages.CloseGraph: _close_graph,
        messages.ByExample: _find_examples,
        messages.TakeExample: _take_example,
        messages.SetKind: _set_kind,
        messages.LoadSample: _load_sample,
    }


def _node_of(plan: Plan | None) -> str:
    """Return the node that the answer speaks of: the chosen one, or the one that its first reason names."""
    if plan is None:
        return ""
    return plan.node or next((reason.node for reason in plan.shortfalls), "")


def _compared(plan: Plan) -> list[str]:
    """Return the words for best and kube-scheduler over each other, in addition to the picture."""
    from dra_lab.pictures.device_states import over_each_other

    if over_each_other(plan) == "both-plain":
        return ["K: without links"]
    if plan.first_fit is None or over_each_other(plan):
        return []
    return ["kube-scheduler takes the same" if plan.first_fit.placements else "kube-scheduler takes none"]

"""HardwareView: the nodes that serve the drawing, and one of them as a picture of its hardware."""

from __future__ import annotations

import math
from typing import Any

import traitlets
from msgspec.structs import replace

from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.index.device_kinds import guessed_kinds
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import KindRule
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import asks
from dra_lab.session import EXAMPLE_CLUSTER, Session
from dra_lab.sketch.by_example import Example
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.widgets.device_rows import Fleet, equal_nodes, fleet
from dra_lab.widgets.session_view import STATIC, Highlight, Pane, Row, SessionView, Shown, calls, latest_plan, on
from dra_lab.widgets.stored_output import picture_parts
from dra_lab.widgets.trace_mode import TraceMode, picture_width
from dra_lab.words.document import Part

SHOWN = ("best", "scheduler", "plain", "both")
_NO_SLICES = "This cluster has no ResourceSlices, so there is no hardware to show."
_TRY_SAMPLE = "Try a sample"


class DriverKindRow(Row, frozen=True):
    """A driver of the node: the kind of its devices, whether it is guessed, and the text of its profile file.

    `kind` is "" if the attributes of each device decide.
    """

    driver: str
    kind: str
    guessed: bool = False
    profile: str = ""


class ExampleRow(Row, frozen=True):
    """One claim: `title` says how general it is, `lines` its requests and links, `matching` what it would take."""

    title: str
    lines: tuple[str, ...] = ()
    matching: str = ""


class NodePicture(Pane):
    """The strip of nodes, the picture of one of them, and what a person does with it."""

    svg = traitlets.Unicode("").tag(sync=True)
    node = traitlets.Unicode("").tag(sync=True)
    pinned = traitlets.Unicode("").tag(sync=True)
    caption = traitlets.Unicode("").tag(sync=True)
    show = traitlets.Enum(SHOWN, "best").tag(sync=True)
    width = traitlets.Int(0).tag(sync=True)
    fleet = traitlets.Dict().tag(sync=True, value=Fleet)
    height = traitlets.Int(0).tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    looked = traitlets.Unicode("").tag(sync=True)
    stale = traitlets.Bool(False).tag(sync=True)
    empty = traitlets.Unicode("").tag(sync=True)
    empty_action = traitlets.Unicode("").tag(sync=True)
    graph = traitlets.Unicode("").tag(sync=True)
    kinds: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[DriverKindRow])
    examples: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[ExampleRow])

    def _begin(self) -> None:
        self._looked = ""
        self._looked_for: tuple[object, ...] = ()
        self._examples: tuple[Example, ...] = ()
        self.watch(self._show_node, "show", "width", "height", "unfolded")
        self.shows("cluster", "plan", fleet=_fleet, pinned=lambda session: session.drawing.node)
        # The answer to another drawing shows itself: looking at another node ends with the next change of that.
        self.when(self._show_answer, "cluster", "plan")
        self.endings += [self.session.on("look", self._show_looked_at), self.session.on("show", self._show_allocation)]
        self.when(self._show_stale, "plan")
        self.when(self.soon(self._show_stale), "solving")

    def _show_answer(self) -> None:
        # not with each answer: those of a cluster that is followed come every second
        session, drawing = self.session, self.session.drawing
        question = session.sketch, session.release, drawing.node, drawing.goals, session.cluster.name
        if question != self._looked_for:
            self._looked, self._looked_for = "", question
            session.look_at("")
        self._show_node()

    def _show_looked_at(self) -> None:
        node, device = self.session.looked_at
        if node not in ("", self.view.node):
            self._looked = node
            self._show_node()
        self.view.looked = device
        if device and device not in self.view.svg:
            self.view.unfolded = True

    def _show_allocation(self) -> None:
        self.view.show = self.session.shown

    def _show_stale(self) -> None:
        self.view.stale = self.session.stale

    def _show_node(self) -> None:
        from dra_lab.pictures.device_states import over_each_other
        from dra_lab.pictures.hardware import hardware_svg

        session, show = self.session, self.view.show
        cluster, plan = session.cluster, latest_plan(session)
        if not cluster.slices:
            self.assign(svg="", node="", caption="", kinds=(), empty=_NO_SLICES, empty_action=_TRY_SAMPLE)
            return
        # of a misfit the node that its first reason names
        answered = [plan.node, *(reason.node for reason in plan.shortfalls[:1])] if plan is not None else []
        wanted = (self._looked, session.drawing.node, *answered, *cluster.node_names[:1])
        name = next((node for node in wanted if node in cluster.node_by_name), "")
        show = over_each_other(plan) or "both" if show == "both" and plan is not None else show
        width, svg = picture_width(self.view.width), ""
        if name:
            height, unfolded = float(self.view.height or math.inf), self.view.unfolded
            space: Any = {"width": width, "height": height, "unfolded": unfolded}
            svg = hardware_svg(cluster, name, plan=plan, show=show, sketch=session.sketch, **space)
        kinds = driver_kind_rows(cluster, name) if name else ()
        self.assign(svg=svg, node=name, caption=self._caption(plan, name), kinds=kinds, empty="", empty_action="")
        if self.view.graph:
            self._show_graph()

    def _caption(self, plan: Plan | None, name: str) -> str:
        from dra_lab.pictures.device_states import over_each_other

        equal = equal_nodes(plan, name)
        parts = [f"one of {equal:,} identical nodes"] if equal > 1 else []
        if self.view.show == "both" and plan is not None and plan.fits and plan.node == name:
            if over_each_other(plan) == "both-plain":
                parts.append("K: without links")
            elif plan.first_fit is not None and not over_each_other(plan):
                parts.append(
                    "kube-scheduler takes the same" if plan.first_fit.placements else "kube-scheduler takes none"
                )
        return "; ".join(parts)

    def _show_graph(self) -> None:
        from dra_lab.pictures.hardware import tree_svg

        if self.view.node:
            self.view.graph = tree_svg(self.session.cluster, self.view.node, latest_plan(self.session))

    # ------------------------------------------------------------ what the person did

    pin = calls(Session.pin, tag="pin")
    set_kind = calls(Session.set_kind, tag="set-kind")

    @on(tag="node")
    def look(self, name: str, device: str = "") -> None:
        """Show the picture of another node, and ask why this device of it does not serve."""
        self._looked = name
        if name != self.view.node:
            self._show_node()
        self.session.look_at(name, device)

    @on(tag="graph")
    def open_graph(self) -> None:
        """Open the graph of the node."""
        self._show_graph()

    @on
    def close_graph(self) -> None:
        """Close the graph."""
        self.view.graph = ""

    @on
    def by_example(self, devices: tuple[str, ...]) -> None:
        """Find the claims that ask for such devices as these on the node."""
        from dra_lab.sketch.by_example import by_example
        from dra_lab.topology.locality import localities

        session, node = self.session, self.view.node
        self._examples = ()
        try:
            if devices and node in session.cluster.node_by_name:
                chosen = [device for device in localities(session.cluster, node) if str(device) in set(devices)]
                self._examples = by_example(session.cluster, node, chosen, session.release, session.sketch.name)
        finally:
            self.assign(examples=[*map(example_row, self._examples)])

    @on
    def take_example(self, number: int, *, add: bool = False) -> None:
        """Draw one of these claims, or add it to the drawing."""
        from dra_lab.sketch.by_example import added_to

        if 0 <= number < len(self._examples):
            sketch = self._examples[number].sketch
            self.session.edit(added_to(self.session.sketch, sketch) if add else sketch)

    @on(tag="sample")
    def load_sample(self) -> None:
        """Load the cluster of the example."""
        self.session.load(EXAMPLE_CLUSTER)


def _fleet(session: Session) -> Fleet:
    return fleet(session.cluster, latest_plan(session), session.drawing.node)


class HardwareView(SessionView):
    """The fleet strip over the picture of one node.

    `svg` is the picture, `node` whose it is, `caption` what else is known of it ("one of 214 identical nodes"). `width`
    and `height` are how many pixels the browser has for the picture, 0 for the usual width and for any height: text is
    never scaled. `unfolded` draws PCIe roots that the drawing cannot use although there is no room. `looked` is the
    device that a person looks at. `show` chooses what
    is drawn: the best allocation, kube-scheduler's with the manifest or without links, or both over each other. If the
    manifest makes kube-scheduler take the best, both means without links, and the view says so. `highlight` is a
    request's name or a device id. Both sides write these two. `pinned` is the node that a person planned on. `graph` is
    the tree of PCIe roots and NUMA nodes as SVG, "" until asked. `examples` are claims that ask for the devices that a
    person has chosen on the picture. `kinds` are the node's drivers without a data file of dra_lab.

    Example:
        >>> from dra_lab import HardwareView, Session
        >>> view = HardwareView(Session("sample:two-sockets"))
        >>> view.show
        'best'
    """

    _esm = STATIC / "hardware_view.js"
    _css = STATIC / "hardware_view.css"

    panes = (Shown, NodePicture, Highlight, TraceMode)

    def stored_parts(self) -> list[Part]:
        """Return the sentence of the answer with the picture of its node."""
        return picture_parts(self._session) if self._session is not None else []


def driver_kind_rows(cluster: Cluster, node: str) -> tuple[DriverKindRow, ...]:
    """Return a row for each driver on a node that dra_lab has no data file for, by name."""
    from dra_lab.sources.driver_profiles import profile_text

    rows, guesses = [], dict(guessed_kinds(cluster))
    for driver in sorted({pool.driver for pool in gather_pools(cluster, node)} - set(known_drivers())):
        known, guess = profile(driver, cluster.profiles), guesses.get(driver, "")
        if not known.kinds:
            known = replace(known, kinds=(KindRule(guess or "other"),))
        kind = "" if known.kinds[0].when else known.kinds[0].kind
        rows.append(DriverKindRow(driver=driver, kind=kind, guessed=bool(guess), profile=profile_text(known)))
    return tuple(rows)


def example_row(example: Example) -> ExampleRow:
    """Return what a claim asks for, and what it would take."""
    lines = []
    for request in example.sketch.requests:
        for ask in asks(request):
            lines.append(f"{request.name}: {ask.count} × {ask.device_class_name}")
            lines += [f"  {text}" for text in ask.selectors]
    for link in example.sketch.links:
        lines.append(f"{' + '.join(link.requests)}: {link.how} at the {LEVEL_WORDS.get(link.where, link.where)}")
    counts = ", ".join(f"{count} for {name}" for name, count in example.matching.items())
    only = "; on this node nothing but the chosen devices" if example.exact else ""
    return ExampleRow(title=example.title, lines=tuple(lines), matching=f"{counts} match in the whole cluster{only}")

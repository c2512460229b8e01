"""A claim canvas on a page of the test server, what a person does with it, and what the canvas alone is fed with."""

from __future__ import annotations

from lab_page import LabPage, box_of
from lab_server import until
from playwright.sync_api import Locator

GPU = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
RDMA = 'device.attributes["dra.net"].rdma == true'
NIC = {
    "name": "nic",
    "exactly": {"deviceClassName": "dranet", "count": 2, "selectors": [{"cel": {"expression": RDMA}}]},
}
PAIRS = {"name": "link-1", "requests": ["gpu", "nic"], "where": "pcieRoot", "how": "pairwise"}
NEAR = {"name": "link-2", "requests": ["gpu", "nic"], "where": "numaNode", "how": "together", "must": False}
TWO = {"requests": [GPU, NIC]}
LINKED = {**TWO, "links": [PAIRS, NEAR]}

PALETTE = [
    {
        "key": "gpu",
        "label": "NVIDIA A100 40GB",
        "kind": "gpu",
        "deviceClass": "gpu.nvidia.com",
        "use": "27 of 32 free",
    },
    {"key": "rdma", "label": "RDMA NIC (EFA)", "kind": "nic", "deviceClass": "dranet", "use": "15 of 16 free"}
    | {"selectors": [RDMA]},
    {"key": "nic", "label": "any NIC", "kind": "nic", "deviceClass": "dranet", "use": "27 of 28 free"},
    {"key": "cpu", "label": "CPU", "kind": "cpu", "deviceClass": "dra.cpu", "inCluster": False, "use": "class not read"}
    | {"capacityKey": "dra.cpu/cpu", "defaultCapacity": "16"},
]
OPTIONS = [
    {"where": "switch", "label": "PCIe switch", "enabled": False, "reason": "neither publishes a switch"},
    {"where": "pcieRoot", "label": "PCIe root"},
    {"where": "numaNode", "label": "NUMA node", "enabled": False, "reason": "gpu publishes no NUMA node"},
    {"where": "resource.kubernetes.io/pciBusID", "label": "resource.kubernetes.io/pciBusID"},
]
STATUS = {
    "requests": {
        "gpu": {"letter": "A", "colour": "#0072B2", "textColour": "#ffffff", "kind": "gpu", "matching": 32, "total": 32}
        | {"text": "32 of 32 match, 27 free", "matchingIds": ["gpu.nvidia.com/node-1/gpu-0"]},
        "nic": {"letter": "B", "colour": "#D55E00", "textColour": "#000000", "kind": "nic", "matching": 16, "total": 28}
        | {"text": "16 of 28 match; 12 lack RDMA"},
    },
    "links": {"link-1": {"options": OPTIONS}, "link-2": {"options": OPTIONS}},
    "pairs": {"gpu|nic": OPTIONS},
}


def canvas_cells(sketch: object = None, **traits: object) -> list[str]:
    """The notebook of one canvas; dicts are written as they are, Python reads them."""
    traits = {"palette": PALETTE, "status": STATUS, "sketch": sketch or {}, **traits}
    return [
        "# Title",
        f"from dra_lab.widgets.claim_canvas import ClaimCanvas\ncanvas = ClaimCanvas(**{traits!r})\ncanvas",
        "1 + 1",
    ]


class Drawn:
    """A canvas on a page, and what a person does with it."""

    def __init__(self, lab: LabPage, requests: int) -> None:
        self.lab, self.page = lab, lab.page
        self.root = lab.page.locator(".dra-canvas").first
        self.root.wait_for()
        until(lambda: self.boxes.count() == requests, f"{requests} boxes are drawn")
        self.root.scroll_into_view_if_needed()
        self.settle()

    @property
    def boxes(self) -> Locator:
        return self.root.locator(".react-flow__node-request")

    def box(self, name: str) -> Locator:
        return self.root.locator(f'.react-flow__node[data-id="r:{name}"]')

    def knot(self, name: str) -> Locator:
        return self.root.locator(f'.react-flow__node[data-id="l:{name}"]')

    def chip(self, key: str) -> Locator:
        return self.root.locator(f'.dra-chip[data-key="{key}"]')

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def spoken(self) -> str:
        return self.root.locator(".dra-sr[role=status]").text_content() or ""

    def focused(self) -> str:
        """The id of the box or knot that has the focus; "" for none."""
        return self.page.evaluate("() => document.activeElement?.closest('.react-flow__node')?.dataset.id ?? ''")

    def settle(self) -> None:
        """Wait until React Flow has measured every box, shown it and moved the view: two frames without a change."""
        self.page.evaluate(
            """async () => {
                const look = () => [...document.querySelectorAll('.react-flow__node, .react-flow__viewport')]
                    .map(n => n.style.transform + getComputedStyle(n).visibility).join('|');
                let last = '';
                for (let same = 0, tries = 0; same < 6 && tries < 300; tries++) {
                    await new Promise(requestAnimationFrame);
                    const now = look();
                    same = now === last && !now.includes('hidden') ? same + 1 : 0;
                    last = now;
                }
            }"""
        )

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A real drag: React Flow starts a connection only when the mouse moves in steps."""
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(start[0] + 6, start[1] + 6, steps=3)
        mouse.move(*end, steps=10)
        mouse.up()

    def centre(self, target: Locator) -> tuple[float, float]:
        box = box_of(target)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def handle(self, item: Locator, side: str) -> tuple[float, float]:
        return self.centre(item.locator(f".react-flow__handle-{side}"))

    def sketch(self) -> dict:
        return self.lab.eval("canvas.sketch")

    def names(self) -> list[str]:
        return self.lab.eval("[r.name for r in canvas.drawn.requests]")

    def links(self) -> list[dict]:
        return self.lab.eval("canvas.sketch.get('links', [])")

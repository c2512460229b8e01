"""Pictures of the documentation: hardware from the product, and screenshots of the planner in a real JupyterLab."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab import load_cluster, make_plan, read_sketch
from dra_lab.pictures.hardware import hardware_svg

if TYPE_CHECKING:
    from lab_server import LabServer
    from playwright.sync_api import BrowserContext

ROOT = Path(__file__).resolve().parents[1]
SCREENS = {
    "plan": "from dra_lab import Lab\nlab = Lab('sample:eks-p4d', 'sample:eks-p4d/gpu-nic-pairs', file=None)\nlab",
    "trace": "lab.session.show_mode('trace')",
    "fleet": "lab.session.show_mode('fleet')",
    "learn": "lab.session.show_mode('learn')",
}
"""By name of the screenshot: the cell that shows the planner, then what changes its mode."""


def layers_svg() -> str:
    """Return the packages of dra_lab as a picture, from the contract that says who may import whom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [re.findall(r"\w+", row) for row in contracts[0]["layers"]]
    parts = []
    for number, names in enumerate(layers):
        width, top = (700 - 10 * (len(names) - 1)) / len(names), 10 + 40 * number
        for at, name in enumerate(names):
            left = 10 + at * (width + 10)
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="30" rx="5"/>')
            parts.append(f'<text x="{left + width / 2:.1f}" y="{top + 20}">{name}</text>')
    style = (
        "rect{fill:#fff;stroke:#57606a}text{font:14px system-ui,sans-serif;text-anchor:middle;fill:#1f2328}"
        "@media(prefers-color-scheme:dark){rect{fill:#161b22;stroke:#8b949e}text{fill:#e6edf3}}"
    )
    size = f'viewBox="0 0 720 {20 + 40 * len(layers)}" width="720" height="{20 + 40 * len(layers)}"'
    title = "Each package imports only from packages below it"
    drawn = f"<title>{title}</title><style>{style}</style>{''.join(parts)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{drawn}</svg>\n'


_BOXES = {
    "driver": (10, 20, "Driver on a node"),
    "slice": (265, 20, "ResourceSlice"),
    "scheduler": (520, 75, "kube-scheduler"),
    "pod": (10, 130, "Pod"),
    "claim": (265, 130, "ResourceClaim"),
    "kubelet": (10, 240, "kubelet and driver"),
}
"""Left, top and text of each box of the picture of DRA."""

_ARROWS = (
    ((160, 40), (265, 40), "1 publishes", (212, 32)),
    ((160, 150), (265, 150), "2 names", (212, 142)),
    ((415, 40), (520, 85), "reads", (462, 52)),
    ((520, 105), (415, 143), "3 allocates", (490, 140)),
    ((300, 170), (160, 250), "4 prepares the devices", (325, 225)),
)
"""Start, end, text, and place of the text of each arrow."""


def flow_svg() -> str:
    """Return who writes and reads the objects of DRA, as a picture."""
    parts = []
    for left, top, text in _BOXES.values():
        parts.append(f'<rect x="{left}" y="{top}" width="150" height="40" rx="5"/>')
        parts.append(f'<text x="{left + 75}" y="{top + 25}">{text}</text>')
    for (x1, y1), (x2, y2), text, (x, y) in _ARROWS:
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" marker-end="url(#arrow)"/>')
        parts.append(f'<text class="small" x="{x}" y="{y}">{text}</text>')
    style = (
        "svg{background:#fff}rect{fill:#f6f8fa;stroke:#57606a}line{stroke:#57606a;stroke-width:1.5}path{fill:#57606a}"
        "text{font:14px system-ui,sans-serif;text-anchor:middle;fill:#1f2328}.small{font-size:12px}"
        "@media(prefers-color-scheme:dark){svg{background:#131416}rect{fill:#161b22;stroke:#8b949e}line{stroke:#8b949e}"
        "path{fill:#8b949e}text{fill:#e6edf3}}"
    )
    marker = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    drawn = f"<title>The objects of DRA, and who writes them</title><style>{style}</style>{marker}{''.join(parts)}"
    size = 'viewBox="0 0 690 295" width="690" height="295"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{drawn}</svg>\n'


def draw_pictures(folder: Path) -> None:
    """Write the pictures of DRA and of a node: its hardware, and the best allocation beside kube-scheduler's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flow.svg").write_text(flow_svg(), encoding="utf-8")
    cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    # Without links, kube-scheduler takes GPUs of two NUMA nodes on this node.
    plan = make_plan(cluster, sketch, node="lab-2")
    (folder / "node.svg").write_text(hardware_svg(cluster, "lab-2", width=640), encoding="utf-8")
    (folder / "best.svg").write_text(hardware_svg(cluster, "lab-2", plan=plan, width=640), encoding="utf-8")
    plain = hardware_svg(cluster, "lab-2", plan=plan, show="plain", width=640)
    (folder / "first-fit.svg").write_text(plain, encoding="utf-8")


def take_screenshots(folder: Path, cache: Path, key: str, *, made: bool) -> None:
    """Write the screenshots of the planner, from the cache if nothing changed; else the one of the repository."""
    kept = cache / f"screens-{key}"
    if made and not kept.is_dir():
        for old in cache.glob("screens-*"):
            shutil.rmtree(old)
        unfinished = cache / "unfinished-screens"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _photograph(unfinished)
        unfinished.rename(kept)
    for name in SCREENS:
        picture = kept / f"{name}.png"
        shutil.copy(picture if picture.is_file() else ROOT / "notebooks" / "planner.png", folder / f"{name}.png")


@contextmanager
def in_jupyterlab() -> Iterator[tuple[LabServer, BrowserContext]]:
    """Yield a JupyterLab of its own and a browser for it, as the browser tests use them."""
    sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests")]
    import provide_chromium
    from conftest import ARGUMENTS
    from lab_server import LabServer
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("DRA_LAB_CHROMIUM") or provide_chromium.find()
    if not chromium:
        sys.exit(provide_chromium.ADVICE)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        server = LabServer(Path(place))
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield server, browser.new_context(reduced_motion="reduce", viewport={"width": 1440, "height": 1000})
        finally:
            browser.close()
            server.close()


def _photograph(folder: Path) -> None:
    with in_jupyterlab() as (server, context):
        from lab_page import LabPage, write_notebook

        write_notebook(server.root / "planner.ipynb", [SCREENS["plan"]])
        lab = LabPage(context, server).open("planner.ipynb").run_all()
        screen = lab.page.locator(".dra-lab").first
        screen.locator(".dra-hardware svg [data-request]").first.wait_for()
        for name, code in SCREENS.items():
            if name != "plan":
                lab.run(code)
                screen.locator(".dra-mode-pane:visible").first.wait_for()
            # An answer that comes later than this is not on the picture, and nothing depends on it.
            lab.page.wait_for_timeout(800)
            screen.screenshot(path=folder / f"{name}.png")
        lab.close()

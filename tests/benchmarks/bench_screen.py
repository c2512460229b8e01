"""What a person waits for: JupyterLab (5 s), a picture after a click (150 ms), the first plan of 5,000 nodes (1 s)."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "browser"), str(HERE.parent)]

import provide_chromium  # noqa: E402  found only now
from conftest import ARGUMENTS  # noqa: E402
from lab_page import LabPage, write_notebook  # noqa: E402
from lab_server import LabServer  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

EDITS = 7
CELL = "from dra_lab import Lab\nlab = Lab({arguments})\nlab"
BIG = "__import__('tests.benchmarks.big_cluster', fromlist=['x']).big_cluster(5000, 0.2), "
SKETCH = "file=None, sketch=__import__('dra_lab').read_sketch('sample:eks-p4d/gpu-nic-pairs')"

CLICK_TO_PICTURE = """async label => {
    const picture = () => document.querySelector('svg.dra-hw')?.outerHTML ?? '';
    const before = picture();
    const start = performance.now();
    document.querySelector(`.dra-canvas [aria-label="${label}"]`).click();
    while (picture() === before) {
        if (performance.now() - start > 60000) return NaN;
        await new Promise(requestAnimationFrame);
    }
    return performance.now() - start;
}"""


def start_seconds() -> float:
    """From the start of JupyterLab, as `dra-lab` starts it, until it answers."""
    with tempfile.TemporaryDirectory() as folder:
        server = LabServer(Path(folder))
        server.close()
        return server.seconds_to_start


def edit_milliseconds(page: Page) -> float:
    """Median time from a click on the count of the GPUs until the hardware picture shows the new answer."""
    labels = ["Less gpu" if edit % 2 == 0 else "More gpu" for edit in range(EDITS)]
    return statistics.median(page.evaluate(CLICK_TO_PICTURE, label) for label in labels)


STEP_TO_PLAN = """async () => {
    const pane = document.querySelector('.dra-fleet-mode');
    const verdict = () => pane.querySelector('h2').textContent;
    const before = verdict();
    const start = performance.now();
    pane.querySelector('[aria-label^="More pods of"]').click();
    while (verdict() === before || pane.querySelector('.dra-fleet-verdict.is-stale')) {
        if (performance.now() - start > 60000) return NaN;
        await new Promise(requestAnimationFrame);
    }
    return performance.now() - start;
}"""


def step_milliseconds(page: Page) -> float:
    """Median time from a click on the stepper of a fleet of 1,000 pods until the screen has the first plan."""
    page.locator(".dra-modes label", has_text="Fleet").click()
    field = page.locator(".dra-fleet-mode .dra-stepper input").first
    field.fill("1000")
    field.press("Enter")
    page.locator(".dra-fleet-verdict h2", has_text="All 1,000 pods").wait_for(timeout=60_000)
    found = []
    for _ in range(EDITS):
        # the second number of stranded devices is the last of an answer
        page.locator(".dra-fleet-verdict .dra-tiles li").nth(3).wait_for(timeout=60_000)
        found.append(page.evaluate(STEP_TO_PLAN))
    return statistics.median(found)


def planner(browser: Browser, server: LabServer, arguments: str) -> Page:
    """Open a notebook with one planner and wait for its answer."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000}, reduced_motion="reduce")
    lab = LabPage(context, server)
    name = f"bench-{len(arguments)}.ipynb"
    write_notebook(server.root / name, [CELL.format(arguments=arguments)])
    lab.goto().open(name).run_all()
    lab.page.locator(".dra-answer.has-figures").wait_for(timeout=120_000)
    lab.page.locator("svg.dra-hw [data-request]").first.wait_for(timeout=60_000)
    return lab.page


def main() -> None:
    """Print the medians beside their targets."""
    started = statistics.median(start_seconds() for _ in range(3))
    print(f"JupyterLab answers after {started:.1f} s   (target 5 s)")
    os.environ["PYTHONPATH"] = str(HERE.parents[1])
    found = os.environ.get("DRA_LAB_CHROMIUM") or provide_chromium.find()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = LabServer(Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        small = edit_milliseconds(planner(browser, server, SKETCH))
        print(f"4 nodes: an edit in the browser until the picture shows it {small:.0f} ms   (target 150 ms)")
        page = planner(browser, server, BIG + SKETCH)
        big = edit_milliseconds(page)
        print(f"5,000 nodes: an edit in the browser until the picture shows it {big:.0f} ms   (target 1,000 ms)")
        step = step_milliseconds(page)
        print(f"5,000 nodes: a step in Fleet until the first plan is on screen {step:.0f} ms   (target 1,000 ms)")
        browser.close()
        server.close()


if __name__ == "__main__":
    main()

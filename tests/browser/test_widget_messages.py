"""On which of the kernel's threads the planner hears of what a person does: the main one or a second one."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

SUBSHELLS = "[t.name for t in __import__('threading').enumerate() if t.name.startswith('subshell')]"
_SEND = "where => { window.jupyterapp.serviceManager.kernels.commsOverSubshells = where; }"


@pytest.fixture
def on_a_second_thread(planner):
    """The planner in a JupyterLab with its own default, which `dra-lab` does not start it with."""
    planner.page.evaluate(_SEND, "perCommTarget")
    until(lambda: planner.lab.eval(SUBSHELLS), "the kernel has a second thread for widgets")
    yield planner
    planner.page.evaluate(_SEND, "disabled")
    until(lambda: not planner.lab.eval(SUBSHELLS), "the second thread has ended")


def test_the_kernel_has_no_second_thread_for_widgets(planner):
    """As `dra-lab` starts JupyterLab, a drawing by hand and one by a cell never change the planner at the same time."""
    planner.button("Clear").click()
    planner.sentence("Nothing is drawn yet")
    assert planner.lab.eval(SUBSHELLS) == []


def test_the_planner_answers_from_a_second_thread(on_a_second_thread):
    """Where JupyterLab was started by itself, what is cleared and undone by hand is answered as well."""
    planner = on_a_second_thread
    planner.button("Clear").click()
    planner.sentence("Nothing is drawn yet")
    planner.button("Undo").click()
    planner.sentence("Fits on 3 of 4")

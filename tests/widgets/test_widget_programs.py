"""The widgets of Python and the programs that the JupyterLab extension registers for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_lab import ClaimCanvas, ClusterBar, HardwareView, PlanView
from dra_lab.widgets.session_view import EXTENSION_VERSION

PROGRAMS = Path(__file__).parents[2] / "widgets" / "labextension" / "src" / "widget_programs.ts"
WIDGETS = [ClaimCanvas, ClusterBar, HardwareView, PlanView]


@pytest.mark.parametrize("cls", WIDGETS)
def test_the_extension_has_the_program_of_each_widget(cls):
    """Under the name that anywidget gives to its class."""
    assert f'"{cls.__module__}.{cls.__name__}": ' in PROGRAMS.read_text(encoding="utf-8")


def test_the_extension_registers_the_version_that_the_widgets_ask_for():
    """JupyterLab would take anywidget's own module for any other."""
    assert f'VERSION = "{EXTENSION_VERSION}"' in PROGRAMS.read_text(encoding="utf-8")


@pytest.mark.parametrize("cls", WIDGETS)
def test_a_widget_takes_anywidgets_own_module_as_well(cls):
    """Other front ends have that one only, and the same state must do for all."""
    versions = cls().get_state(["_model_module", "_model_module_version", "_view_module_version"])
    assert versions == {
        "_model_module": "anywidget",
        "_model_module_version": f"~0.11.*||{EXTENSION_VERSION}",
        "_view_module_version": f"~0.11.*||{EXTENSION_VERSION}",
    }

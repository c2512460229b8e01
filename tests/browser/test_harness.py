"""What every widget and every browser test relies on: shortcuts, and a harness that sees what it claims to see."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import evidence
import pytest
from lab_page import wait_for_cells
from lab_server import until

WIDGETS = Path(__file__).parents[2] / "widgets"
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shortcut_cell(tmp_path_factory):
    """A cell that shows a widget with two focusable things, kept from JupyterLab's shortcuts by src/jupyter.ts."""
    sys.path.insert(0, str(WIDGETS))
    try:
        import front_end
    finally:
        sys.path.remove(str(WIDGETS))
    folder = tmp_path_factory.mktemp("bundle")
    entry = folder / "probe.ts"
    entry.write_text(
        f"""import {{ suppressShortcuts }} from {json.dumps((WIDGETS / "src" / "jupyter").as_posix())};
        export default {{ render({{ el }}: any) {{
            el.innerHTML = '<div class="probe"><button class="one">one</button><svg><g class="two" tabindex="0">'
                + '<rect width="30" height="30"/></g></svg></div>';
            return suppressShortcuts(el);
        }} }};"""
    )
    front_end.npm("exec", "--", "esbuild", str(entry), "--bundle", "--format=esm", f"--outfile={folder / 'probe.js'}")
    return f"""import anywidget
class Probe(anywidget.AnyWidget):
    _esm = {(folder / "probe.js").read_text()!r}
Probe()"""


def focus_probe(page, target=".one"):
    """Put the focus into the widget, once running the cells has stopped moving it."""
    wait_for_cells(page, 2)
    probe = page.page.locator(f".probe {target}")
    probe.wait_for()
    is_there = "target => { document.querySelector(target).focus(); return document.activeElement.matches(target); }"
    until(lambda: page.page.evaluate(is_there, f".probe {target}"), "the focus is in the widget")


@pytest.mark.parametrize("target", [".one", ".two"])
def test_notebook_shortcuts_do_not_reach_a_widget(open_notebook, shortcut_cell, target):
    """Keys that insert, cut and run cells do nothing while the focus is in a widget, on HTML and on SVG alike."""
    page = open_notebook(["x = 1", shortcut_cell])
    focus_probe(page, target)
    for key in ("a", "b", "x", "d", "d", "z", "m", "y", "c", "v", "Control+Enter", "Shift+Enter", "Delete"):
        page.page.keyboard.press(key)
    cells = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)"
    assert page.page.evaluate(cells) == ["code", "code"]


def test_save_works_from_inside_a_widget(open_notebook, shortcut_cell, server):
    """Ctrl+S saves the notebook wherever the focus is."""
    page = open_notebook(["x = 1", shortcut_cell])
    focus_probe(page)
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.sharedModel.setMetadata('probe', 1)")
    page.page.keyboard.press("Control+s")
    until(lambda: '"probe": 1' in (server.root / page.notebook).read_text(), "saved")


def test_the_palette_opens_from_inside_a_widget(open_notebook, shortcut_cell):
    """Ctrl+Shift+C opens the command palette wherever the focus is, and the widget is kept from shortcuts again."""
    page = open_notebook(["x = 1", shortcut_cell])
    focus_probe(page)
    page.page.keyboard.press("Control+Shift+C")
    page.page.locator("#modal-command-palette").wait_for()
    page.page.keyboard.press("Escape")
    focus_probe(page)
    page.page.keyboard.press("b")
    assert page.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 2


@pytest.mark.long
def test_low_contrast_is_seen_in_html_and_in_svg(open_notebook):
    """The harness finds unreadable text on a box, on a see-through box and on a pattern, and nothing else."""
    html = """from IPython.display import HTML
HTML('''<div class="sheet" style="background:#fff;color:#000">plain
<p style="color:#bbb">grey text</p><div style="background:#222"><p style="color:#333">dark on dark</p></div>
<p style="color:#fff;background:#003366">good</p>
<svg width="300" height="120"><defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse">
<rect width="4" height="4" fill="#fff"/><path d="M0 0L4 4" stroke="#000"/></pattern></defs>
<rect width="100" height="40" fill="#56b4e9"/><text x="10" y="20" fill="#fff">white on sky</text>
<rect x="100" width="100" height="40" fill="#000"/><text x="110" y="20" fill="#fff">white on black</text>
<rect y="50" width="100" height="40" fill="#000" fill-opacity="0.1"/><text x="10" y="70" fill="#ddd">on veil</text>
<rect x="100" y="50" width="100" height="40" fill="url(#hatch)"/><text x="110" y="70" fill="#000">on hatch</text>
<text x="210" y="20" fill="#000">on paper</text></svg></div>''')"""
    page = open_notebook([html])
    page.page.locator(".sheet").wait_for()
    found = {line.split("'")[1] for line in page.low_contrast(".sheet")}
    assert found == {"grey text", "dark on dark", "white on sky", "on veil", "on hatch"}


@pytest.mark.long
def test_axe_finds_what_is_serious(open_notebook):
    """A picture button without a name is found; axe runs from this machine's own copy."""
    page = open_notebook(["from IPython.display import HTML\nHTML('<div class=\"sheet\"><button></button></div>')"])
    page.page.locator(".sheet").wait_for()
    assert [line.split(" ")[0] for line in page.axe(".sheet")] == ["button-name"]


@pytest.mark.long
def test_a_request_to_another_machine_is_caught(doorway):
    """A page that asks another machine for something is stopped, and its test fails."""
    page = doorway()
    page.page.evaluate("() => fetch('https://example.invalid/x').catch(() => null)")
    assert page.foreign == ["https://example.invalid/x"]
    page.foreign.clear()


@pytest.mark.long
def test_a_killed_kernel_comes_back_empty(open_notebook):
    """A kernel that is killed loses what it held; JupyterLab starts it again and the test goes on with it."""
    page = open_notebook(["x = 1"])
    until(lambda: page.eval("'x' in globals()"), "the cell has run")
    page.kill_kernel()
    page.wait_for_new_kernel()
    assert page.eval("'x' in globals()") is False


@pytest.mark.long
def test_a_failure_would_say_what_the_kernel_owes_and_where_it_stands(open_notebook):
    """A kernel that hangs is seen as a request without an answer and as a thread that waits."""
    page = open_notebook(["import threading\nthreading.Event().wait(60)"], run=False)
    page.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.page.locator(".jp-InputArea-prompt", has_text="[*]").wait_for()
    found = evidence.of_failure("what-hangs")
    page.command("kernelmenu:interrupt")
    wait_for_cells(page)
    assert "execute_request on shell" in found
    assert "threading.py" in found
    assert "failed-what-hangs-1.png" in found


@pytest.mark.long
def test_a_failure_would_say_which_error_a_cell_shows(open_notebook):
    """The last line of its traceback is enough to know it by."""
    page = open_notebook(["1 / 0"])
    wait_for_cells(page)
    page.page.locator(".jp-OutputArea-output").wait_for()
    assert "a cell shows: ZeroDivisionError: division by zero" in evidence.of_failure("what-divides")


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_seen(open_notebook, theme):
    """The theme is switched, and a picture of it is there to look at."""
    page = open_notebook(["# A title", "1 + 1"])
    page.theme(theme)
    assert page.picture(f"notebook-{theme}").stat().st_size > 10_000

"""The Python half of the widgets; the browser half is built into static/."""

from dra_lab.errors import require

require("anywidget", "lab")

"""The Python half of the widgets; the browser half is built into static/."""

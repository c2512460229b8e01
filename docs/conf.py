"""Settings of Sphinx; `build_site.py` makes the pages and calls it. No page asks another machine for anything."""

from __future__ import annotations

import re
from enum import Enum
from types import GetSetDescriptorType, MemberDescriptorType

from dra_lab.version import __version__

project = "dra_lab"
author = "the dra_lab authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["upstream/*.lp", "upstream/*.mps"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
# GitHub draws its own tables and quotes in the same files, so the Markdown stays plain.
suppress_warnings = ["myst.header"]
# Quotes and dashes stay as they are written: `--pin` is an option and not a dash.
smartquotes = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "exclude-members": "__new__"}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
html_theme = "furo"
html_title = f"dra_lab {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# An excerpt below each result needs a fetch, which browsers refuse on pages that are opened as files.
html_show_search_summary = False
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
templates_path: list[str] = []
nitpicky = False

_PATH = re.compile(r"~?\bdra_lab(\.[a-z_]+)+\.(?=[A-Z])")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def _plain_code(_app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Docstrings write code between single backquotes; reStructuredText wants two."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else _CODE.sub(r"``\1``", line) for line in lines]


def _short_types(
    _app: object, _what: str, _name: str, _obj: object, _options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Signatures of classes have the whole paths of types; their names suffice."""
    return signature and _PATH.sub("", signature), returns and _PATH.sub("", returns)


def _without_text(_app: object, what: str, _name: str, obj: object, *_more: object) -> bool | None:
    """A field without a text of its own is in the signature and in the text of its class already."""
    plain = isinstance(obj, MemberDescriptorType | GetSetDescriptorType) or not callable(obj)
    return True if what == "class" and plain and not isinstance(obj, property | Enum) else None


def setup(app: object) -> None:
    """Let Sphinx read our docstrings."""
    app.connect("autodoc-skip-member", _without_text)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", _plain_code)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", _short_types)  # type: ignore[attr-defined]

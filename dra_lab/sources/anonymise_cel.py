"""Names in the text of CEL selectors: replaced in literals only, so that the expression stays what it is."""

from __future__ import annotations

import re
from collections.abc import Callable

from dra_lab.model.numbers import unsigned_number

_LITERAL = re.compile(
    r"""//[^\n]*
    |(?<![\w"'])(?P<prefix>[rRbB]{0,2})(?P<quote>\"\"\"|'''|"|')(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)
    |(?<![\w.])(?P<number>\d{6,})(?![\w.])""",
    re.VERBOSE | re.DOTALL,
)


def replace_in_cel(expression: str, scrub: Callable[[str], str]) -> str:
    r"""Return a selector with `scrub` applied to each string literal and each long number; comments are left out.

    A pattern writes the dots of a name as `\.`: the name is looked for without the backslashes too.
    """
    return _LITERAL.sub(lambda found: _replaced(found, scrub), expression)


def _replaced(found: re.Match[str], scrub: Callable[[str], str]) -> str:
    if found["number"] is not None:
        new = scrub(found["number"])
        return found["number"] if unsigned_number(new) is None else new
    if found["quote"] is None:
        return ""
    body = found["body"]
    new = scrub(body)
    if new == body and "\\." in body:
        plain = body.replace("\\\\.", ".").replace("\\.", ".")
        new = scrub(plain)
        new = body if new == plain else new
    return f"{found['prefix']}{found['quote']}{new}{found['quote']}"

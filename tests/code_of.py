"""Code for another interpreter or a notebook cell, written as a function that linters read like any other."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import Any


def code_of(function: Callable[..., Any]) -> str:
    """Return the body of a function as a program; what the function returns is the last expression of the program.

    The parameters are names that exist where the program runs, such as the variables of earlier cells.

    Example:
        >>> def sums(lab):
        ...     total = 1 + 1
        ...     return total
        >>> print(code_of(sums))
        total = 1 + 1
        total
    """
    (made,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(made, ast.FunctionDef)
    body = made.body[1:] if ast.get_docstring(made) is not None else made.body
    shown = [ast.Expr(one.value) if isinstance(one, ast.Return) and one.value else one for one in body]
    return ast.unparse(ast.Module(shown, []))

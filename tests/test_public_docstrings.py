"""Docstrings of the public API: `Args` are the signature's, `Returns` is there, and the examples run."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

import dra_lab

_ARGUMENT = re.compile(r"^    \*{0,2}(\w+): \S", re.MULTILINE)

IN_LONG_MODULES = ("Session",)
"""Classes in modules that reach the ceiling of lines in `test_house.py`; they have no such sections."""
CONSTANTS = tuple(name for name in dra_lab.__all__ if not callable(getattr(dra_lab, name)))
"""Plain values, such as the text KUBECTL: Python gives them the docstring of their type."""
DESCRIBED = [name for name in dra_lab.__all__ if name not in (*IN_LONG_MODULES, *CONSTANTS)]


def functions():
    """Yield the name and function of each public function, and of each public method of a public class."""
    for name in DESCRIBED:
        value = getattr(dra_lab, name)
        if not inspect.isclass(value):
            yield name, value
            continue
        for method, given in vars(value).items():
            found = getattr(given, "__func__", given)
            if inspect.isfunction(found) and not method.startswith("_"):
                yield f"{name}.{method}", found


FUNCTIONS = dict(functions())


def section(function, title: str) -> str:
    """Return the indented lines below a title of a docstring, "" without the title."""
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)*)", inspect.getdoc(function) or "", re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_are_those_of_the_signature(name):
    """`Args` names each parameter, in the order of the signature."""
    parameters = [one for one in inspect.signature(FUNCTIONS[name]).parameters if one not in ("self", "cls")]
    assert _ARGUMENT.findall(section(FUNCTIONS[name], "Args")) == parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_with_arguments_says_what_it_returns(name):
    """`Returns` is there if the function has parameters and a result."""
    signature = inspect.signature(FUNCTIONS[name])
    needed = len(signature.parameters) > 1 and signature.return_annotation not in ("None", None)
    assert not needed or section(FUNCTIONS[name], "Returns")


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_example_runs(name, tmp_path, monkeypatch):
    """Each public name has an example, and it prints what its docstring shows."""
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(dra_lab, name)), {}, name, None, 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    assert (result.attempted > 0, "".join(printed)) == (True, "")

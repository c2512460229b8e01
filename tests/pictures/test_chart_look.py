"""How charts are passed to JupyterLab: in its theme unless they have colours of their own; Altair loads quickly."""

from __future__ import annotations

import subprocess
import sys

import altair as alt
import pytest
from code_of import code_of

import dra_lab
from dra_lab.pictures.charts.look import VEGALITE


def check_iris():
    """Print when the grammar of IRIs was imported, and two checks."""
    import sys

    early = "rfc3987_syntax" in sys.modules
    from jsonschema import Draft202012Validator as Reader

    check = Reader({"format": "iri"}, format_checker=Reader.FORMAT_CHECKER).is_valid
    print(early, check("https://example.org/\u00e4"), check("<<"), "rfc3987_syntax" in sys.modules)


@pytest.fixture
def chart():
    """Give a small chart."""
    return dra_lab.chart(dra_lab.load_cluster("sample:two-sockets"))


def test_a_chart_has_no_ground_and_no_ink_of_its_own(chart):
    """JupyterLab shows a chart on its own ground, with texts in the colour of the text around it."""
    config = chart._repr_mimebundle_()[VEGALITE]["config"]
    assert config["background"] == "transparent"
    assert config["title"]["color"] == config["style"]["guide-label"]["fill"] == "currentColor"


def test_a_background_that_was_set_is_kept(chart):
    """A person's background stays, and the colours of texts stay those that Vega chooses."""
    for given in (chart.properties(background="#ffffff"), chart.configure(background="#ffffff")):
        assert "title" not in given._repr_mimebundle_()[VEGALITE].get("config", {})


def test_a_theme_of_altair_is_kept(chart):
    """A chart keeps the colours of an enabled Altair theme."""
    with alt.theme.enable("dark"):
        assert chart._repr_mimebundle_()[VEGALITE]["config"].keys() <= {"view"}


def test_a_chart_that_is_saved_is_as_altair_makes_it(chart):
    """A saved page or picture has a white background, because its surroundings are unknown."""
    assert "background" not in chart.to_dict()["config"]


@pytest.mark.long
def test_iris_are_checked_as_ever_though_their_grammar_waits():
    """The slow grammar is not compiled for charts; who checks an IRI with jsonschema gets the right answer."""
    pytest.importorskip("rfc3987_syntax", reason="rfc3987_syntax is not installed here: nothing is put off")
    code = code_of(check_iris)
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "True", "False", "True"]

"""Numbers are written with the digits 0 to 9: Python would take those of every script, Kubernetes does not."""

from __future__ import annotations

import pytest

from dra_lab.cli import main
from dra_lab.errors import InputError, QuantityError, SemverError, SourceError
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta, node_matches
from dra_lab.model.numbers import unsigned_number, whole_number
from dra_lab.model.quantity import canonical_quantity, parse_quantity
from dra_lab.model.release import DEFAULT_RELEASE, release_of_cluster
from dra_lab.model.semver import semver_key
from dra_lab.sources import load_cluster

THREE = ["\u0663", "\u0969", "\uff13", "\u00b3", "1\u0663"]
"""Arabic-Indic, Devanagari, full width, superscript, and a mixture."""


@pytest.mark.parametrize("text", [form.format(three) for three in THREE for form in ("{}", "{}Gi", "1e{}", "1.{}")])
@pytest.mark.parametrize("read", [parse_quantity, canonical_quantity])
def test_a_quantity_is_refused(read, text):
    """Apimachinery reads the digits 0 to 9 only."""
    with pytest.raises(QuantityError):
        read(text)


@pytest.mark.parametrize("three", THREE)
def test_a_version_is_refused(three):
    """semver.org 2.0.0 has the digits 0 to 9."""
    with pytest.raises(SemverError):
        semver_key(f"1.{three}.0")


@pytest.mark.parametrize("three", THREE)
def test_a_kubelet_version_is_unknown(three):
    """It counts as no version at all."""
    assert release_of_cluster("", [f"v1.{three}.1"]) == DEFAULT_RELEASE


@pytest.mark.parametrize("three", [*THREE, "1_0", " 3"])
def test_a_label_is_no_number(three):
    """`Gt` of node affinity reads labels with strconv.ParseInt."""
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="a", operator="Gt", values=("1",)),))
    node = Node(metadata=ObjectMeta(name="n", labels={"a": three}))
    assert not node_matches(NodeSelector(node_selector_terms=(term,)), node)


@pytest.mark.parametrize("option", ["--replicas", "--time-limit"])
@pytest.mark.parametrize("three", THREE)
def test_an_option_of_the_command_line_is_refused(option, three, capsys):
    """Exit status 2, and the message shows what was given."""
    with pytest.raises(SystemExit) as ended:
        main(["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", option, three])
    assert (ended.value.code, three in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("three", THREE)
def test_a_number_of_nodes_is_refused(three, tmp_path):
    """`topo:FILE*N` with another digit names a file that is not there."""
    with pytest.raises(SourceError, match="the number of nodes"):
        load_cluster(f"topo:{tmp_path}/a.txt*{three}")


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("-3", -3), ("+3", 3), ("", None), ("1_0", None), (" 1", None)]
)
def test_a_whole_number_has_digits_and_a_sign(text, number):
    """Nothing else is in it."""
    assert whole_number(text) == number


def test_errors_of_digits_are_errors_of_input():
    """Both kinds are InputError, which every command prints as one line."""
    assert issubclass(QuantityError, InputError)
    assert issubclass(SemverError, InputError)


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("-3", None), ("+3", None), ("", None), ("٣", None)])
def test_an_unsigned_number_has_digits_alone(text, number):
    """A sign is no part of it."""
    assert unsigned_number(text) == number

"""Quantities, as Kubernetes reads and prints them (apimachinery `quantity.go`), and the digits 0 to 9 of numbers."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_lab import load_cluster
from dra_lab.cli import main
from dra_lab.errors import QuantityError, SemverError, SourceError
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta, node_matches
from dra_lab.model.quantity import canonical_quantity, parse_quantity, semver_key
from dra_lab.model.release import DEFAULT_RELEASE, release_of_cluster

SPELLINGS = [
    ("a binary amount takes the largest suffix", "1024Mi", "1Gi"),
    ("a binary amount that does not divide keeps its own", "1536Mi", "1536Mi"),
    ("a binary fraction becomes whole", "1.5Gi", "1536Mi"),
    ("below 1024 a binary amount is decimal", "0.5Ki", "512"),
    ("a binary amount that is no whole number is decimal", "1.00001Ki", "1024010240u"),
    ("a decimal amount takes the largest suffix", "1000m", "1"),
    ("thousands get a suffix", "1000", "1k"),
    ("a fraction takes the next smaller suffix", "0.5", "500m"),
    ("a negative fraction too", "-0.5", "-500m"),
    ("an exponent stays an exponent", "1e3", "1e3"),
    ("exponents go by threes", "1e4", "10e3"),
    ("E alone is a suffix", "1E", "1E"),
    ("a bare number is text", 5, "5"),
    ("a fractional number too", 1.5, "1500m"),
    ("zero is zero", "0.00Gi", "0"),
    ("finer than a billionth is rounded up", "0.1n", "1n"),
    ("text that looks canonical is kept, plus sign and all", "+5", "+5"),
    ("trailing zeros of a fraction are kept when they are few", "1.500", "1.500"),
    ("a multiple of 8 in binary is looked at again", "8192Mi", "8Gi"),
    ("an odd binary amount is kept", "1025Ki", "1025Ki"),
]


@pytest.mark.parametrize(("rule", "text", "printed"), SPELLINGS, ids=[case[0] for case in SPELLINGS])
def test_spelling(rule, text, printed):
    assert canonical_quantity(text) == printed, rule


amounts = st.builds(
    lambda sign, number, suffix: f"{sign}{number}{suffix}",
    st.sampled_from(("", "-")),
    st.decimals(0, 10**6, allow_nan=False, places=3).map(str),
    st.sampled_from(("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E2")),
)


@settings(deadline=None)
@given(amounts)
def test_printing_keeps_the_value_and_is_stable(text):
    """The value stays (to a billionth, away from zero), and what was printed once is printed again."""
    printed = canonical_quantity(text)
    assert canonical_quantity(printed) == printed
    value, shown = parse_quantity(text), parse_quantity(printed)
    assert abs(value) <= abs(shown) < abs(value) + Fraction(1, 10**9)


NO_DIGITS = ["\u0663", "\u0969", "\uff13", "\u00b3", "1\u0663"]
"""Arabic-Indic, Devanagari, full width, superscript, and a mixture: Python would read them, Kubernetes does not."""


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Gi", 2**30), ("1024Mi", 2**30), ("100m", Fraction(1, 10)), ("1e3", 1000), ("2k", 2000), (16, 16), (".5", 0.5)],
)
def test_every_spelling_has_its_exact_value(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "ten", "abc", "1.2.3", "1 Gi", "1GiB", "1gi", ".", "--1", "1e", True, None),
        *(form.format(digit) for digit in NO_DIGITS for form in ("{}", "{}Gi", "1e{}", "1.{}")),
    ],
)
@pytest.mark.parametrize("read", [parse_quantity, canonical_quantity])
def test_other_text_is_no_quantity(read, text):
    with pytest.raises(QuantityError, match="write for example"):
        read(text)


@pytest.mark.parametrize("text", ["1e1000", "9" * 100])
def test_a_quantity_beyond_all_bounds_is_refused(text):
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize("digit", [*NO_DIGITS, "1_0", " 3"])
def test_a_label_with_other_digits_is_no_number(digit):
    """`Gt` of node affinity reads labels with strconv.ParseInt."""
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="a", operator="Gt", values=("1",)),))
    node = Node(metadata=ObjectMeta(name="n", labels={"a": digit}))
    assert not node_matches(NodeSelector(node_selector_terms=(term,)), node)


@pytest.mark.parametrize("option", ["--replicas", "--time-limit"])
@pytest.mark.parametrize("digit", NO_DIGITS)
def test_an_option_with_other_digits_is_refused(option, digit, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", option, digit])
    assert (ended.value.code, digit in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("digit", NO_DIGITS)
def test_a_number_of_nodes_with_other_digits_is_refused(digit, tmp_path):
    """`topo:FILE*N` with another digit names a file that is not there."""
    with pytest.raises(SourceError, match="the number of nodes"):
        load_cluster(f"topo:{tmp_path}/a.txt*{digit}")


@pytest.mark.parametrize("text", ["1.0", "01.0.0", "v1.0.0", "1.0.0-01", "", *(f"1.{digit}.0" for digit in NO_DIGITS)])
def test_a_version_has_exactly_three_numbers(text):
    with pytest.raises(SemverError):
        semver_key(text)


@pytest.mark.parametrize("digit", NO_DIGITS)
def test_a_kubelet_version_with_other_digits_is_unknown(digit):
    assert release_of_cluster("", [f"v1.{digit}.1"]) == DEFAULT_RELEASE

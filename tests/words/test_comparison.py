"""Kept plans side by side: rows, what is marked as best, what differs, and every form of the document."""

from __future__ import annotations

import csv

from msgspec.structs import replace

from dra_lab.model.layers import read_layer
from dra_lab.model.sketch import Kept, KnownValue
from dra_lab.words.comparison import (
    changed_lines,
    comparison_csv,
    comparison_json,
    comparison_parts,
    comparison_rows,
    comparison_sentence,
    differ,
)
from dra_lab.words.document import as_html, as_markdown


def exact(**values):
    return {name.replace("__", "/"): KnownValue(value=value, bound=value) for name, value in values.items()}


ONE = Kept(
    name="one",
    mode="plan",
    cluster="c",
    node="n",
    figures=exact(fitting=3, fitting__of=4, gpus=2, unpaired=0, numa=1, roots=2, copies=4, scheduler=1, placed=1),
    yaml="a: 1\n",
)
TWO = replace(ONE, name="two", figures={**ONE.figures, **exact(unpaired=1, numa=2, copies=7, scheduler=0)})


def row(plans, key):
    return next(row for row in comparison_rows(plans) if row.key == key)


def test_the_better_value_is_marked_and_the_row_differs():
    """More copies and fewer NUMA nodes are better; what is equal is not marked."""
    assert [cell.best for cell in row((ONE, TWO), "copies").cells] == [False, True]
    assert [cell.best for cell in row((ONE, TWO), "numa").cells] == [True, False]
    assert (row((ONE, TWO), "fits").differs, row((ONE, TWO), "fits").cells[0].best) == (False, False)


def test_a_number_that_may_be_larger_is_not_compared():
    open_ = replace(ONE, figures={**ONE.figures, "copies": KnownValue(value=4, bound=9)})
    found = row((open_, TWO), "copies")
    assert [(cell.text, cell.best) for cell in found.cells] == [("4 to 9", False), ("7", False)]
    assert "most copies" not in comparison_sentence((open_, TWO))


def test_two_measures_of_kube_scheduler_are_two_rows():
    """What it does on every node, and what it allocates on the plan's node, never share a row."""
    simulated = replace(ONE, name="simulated", simulation="kube-scheduler allocates 2 of 2 pairs.")
    every, here = (row((simulated, TWO), key) for key in ("scheduler", "scheduler-node"))
    assert [cell.text for cell in every.cells] == ["allocates 2 of 2 pairs", "–"]
    assert [cell.text for cell in here.cells] == ["picks an equally good set", "finds nothing"]


def test_the_plans_own_node_is_left_out_once_all_are_simulated():
    plans = [replace(one, simulation="kube-scheduler allocates 2 of 2 pairs.") for one in (ONE, TWO)]
    assert "scheduler-node" not in [found.key for found in comparison_rows(plans)]


def test_claims_of_different_size_are_not_ranked_by_places():
    """Six GPUs on two NUMA nodes are not worse aligned than two GPUs on one."""
    six = replace(TWO, figures={**TWO.figures, **exact(gpus=6)})
    assert not any(cell.best for cell in row((ONE, six), "numa").cells)
    assert "aligned best" not in comparison_sentence((ONE, six))


def test_the_sentence_names_the_best_aligned_and_the_roomiest():
    said = comparison_sentence((ONE, TWO))
    assert said == (
        "“one” is aligned best: 1 NUMA node, 2 of 2 GPUs paired. "
        "“two” leaves room for most copies: 7, 3 more than the next."
    )


def test_plans_that_differ_in_their_names_alone_are_the_same():
    assert not differ((ONE, replace(ONE, name="other")))
    assert differ((ONE, TWO))


def test_another_manifest_is_a_difference_and_its_lines_have_signs():
    other = replace(ONE, name="other", yaml="a: 2\n")
    assert differ((ONE, other))
    assert changed_lines(ONE.yaml, other.yaml) == ("-a: 1", "+a: 2")


def test_every_form_has_the_same_rows():
    """JSON, CSV, Markdown, HTML and the DataFrame have the labels of all rows."""
    plans = (ONE, TWO)
    labels = [row.label for row in comparison_rows(plans)]
    assert [row["label"] for row in comparison_json(plans)["rows"]] == labels
    assert [line[0] for line in csv.reader(comparison_csv(plans).splitlines())][1:] == labels
    parts = list(comparison_parts(plans))
    assert all(label in as_markdown(parts) and label in as_html(parts) for label in labels)


def test_a_name_from_a_file_is_no_markup_and_no_formula():
    hostile = replace(ONE, name="=1+<img src=x>")
    assert "<img" not in as_html(comparison_parts((hostile, TWO)))
    assert comparison_csv((hostile, TWO)).splitlines()[0].startswith("row,'=1+")


def test_a_change_of_the_cluster_is_a_difference_from_none():
    plan = Kept(name="a", mode="plan", cluster="c")
    drained = replace(plan, name="b", layers=(read_layer("drain", "n1"),))
    counted = replace(plan, name="b", figures={"copies": KnownValue(value=4)})
    assert [row.key for row in comparison_rows((plan, drained)) if row.differs] == ["changes"]
    assert [row.key for row in comparison_rows((plan, counted)) if row.differs] == []

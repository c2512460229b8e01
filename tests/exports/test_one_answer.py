"""One pod has one answer: as a drawing, as a fleet of one and as a gang of one."""

from __future__ import annotations

import pytest

from dra_lab import PodGroup, Workload, export, frame, load_cluster, make_plan, picture, read_sketch
from dra_lab.words.plan_json import plan_json

EXAMPLES = ("eks-p4d/gpu-nic-pairs", "eks-p4d/five-pairs", "dgx-h100/gpu-nic-cpu")
FORMS = {
    "list": lambda drawn: [drawn],
    "workload": lambda drawn: Workload(drawn.name, drawn),
    "gang": lambda drawn: Workload(drawn.name, drawn, level="host"),
    "group": lambda drawn: Workload(drawn.name, [PodGroup(drawn.name, drawn)], level="node"),
}


def shown(plan, folder) -> tuple:
    """Return a plan in words, JSON, tables, picture and files."""
    files = export(plan, folder, pin=True, allow_worse=True)
    texts = {file.name: file.read_text() for file in files if file.name != "plan.json"}
    return str(plan), plan_json(plan), frame(plan).to_csv(), str(picture(plan)), texts


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_one_pod_has_one_answer_in_every_form(example, form, tmp_path):
    """The words, JSON, tables, picture and files are the same."""
    cluster, drawn = load_cluster(f"sample:{example.partition('/')[0]}"), read_sketch(f"sample:{example}")
    alone, other = make_plan(cluster, drawn), make_plan(cluster, FORMS[form](drawn))
    assert shown(other, tmp_path / "other") == shown(alone, tmp_path / "alone")

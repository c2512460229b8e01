"""What is wrong with an object of the cluster is a warning beside an answer, in `plan` as in `check`."""

from __future__ import annotations

import re

import pytest
from contradictions import of_command
from small_manifests import claim, device_class, device_slice, pod, request, template

from dra_lab.cli import main

POOL = "{name: n2, generation: 1, resourceSliceCount: 1}"
SLICES = [device_slice("gpu.example.com", "{name: d}", node=node) for node in ("n1", "n2")]
GPU = request("gpu", "gpu")
BROKEN = {
    "incomplete": (POOL, POOL.replace("Count: 1", "Count: 2"), "kube-scheduler does not use its devices"),
    "invalid": ("- {name: d}\n", "- {name: d}\n  - {name: d}\n", "kube-scheduler does not use its devices"),
    "unreadable": ("devices:\n  - {name: d}\n", "devices: none\n", "dra-lab ignores it"),
    "refused": ("{name: d}", "{name: d, attributes: {a: {}}}", "it is used here as written"),
}
"""Ways to break a slice: what is written in place of what, and the reason that is given with the warning."""


def files(tmp_path, how):
    """The paths of a cluster with a good slice and a broken one, of a claim, and of a pod with its template."""
    good, whole = SLICES
    broken = whole.replace(*BROKEN[how][:2])
    assert broken != whole
    held = device_class("gpu", "true") + claim("held", GPU)
    texts = {
        "cluster": good + broken + held,
        "claim": claim("one", GPU),
        "pod": template("one", GPU) + pod("pod", "one"),
    }
    paths = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return [str(path) for path in paths.values()]


COMMANDS = {
    "plan": ("plan", "CLUSTER", "--claim", "CLAIM"),
    "fleet": ("plan", "CLUSTER", "--claim", "CLAIM", "--replicas", "1"),
    "pod": ("plan", "CLUSTER", "--claim", "POD"),
    "json": ("plan", "CLUSTER", "--claim", "CLAIM", "-o", "json"),
}


@pytest.mark.parametrize("asked", COMMANDS)
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_slice_is_a_warning_beside_an_answer_that_fits(how, asked, tmp_path, capsys):
    """The exit status is 0, nothing is an error, and the warning says what becomes of the slice."""
    named = dict(zip(("CLUSTER", "CLAIM", "POD"), files(tmp_path, how), strict=True))
    status = main([named.get(word, word) for word in COMMANDS[asked]])
    shown = capsys.readouterr()
    warned = re.search(rf"^warning: .*{re.escape(BROKEN[how][2])}", shown.err, re.MULTILINE)
    assert (status, of_command("plan", status, shown.out, shown.err), warned is not None) == (0, [], True)
    assert not re.search("^error: ", shown.err, re.MULTILINE)


@pytest.mark.parametrize("how", BROKEN)
def test_plan_and_check_exit_alike_beside_a_broken_slice(how, tmp_path, capsys):
    """The pod fits for both."""
    cluster, _, pod = files(tmp_path, how)
    assert (main(["plan", cluster, "--claim", pod]), main(["check", cluster, pod])) == (0, 0)
    assert "error: " not in "".join(capsys.readouterr())

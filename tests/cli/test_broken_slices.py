"""What is wrong with an object of the cluster is a warning beside an answer, in `plan` as in `check`."""

from __future__ import annotations

import json
import re
from copy import deepcopy

import pytest
from contradictions import of_command

from dra_lab.cli import main

CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
EXACTLY = {"deviceClassName": "gpu"}
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "one", "namespace": "a"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": EXACTLY}]}},
}
TEMPLATE = {**CLAIM, "kind": "ResourceClaimTemplate", "spec": {"spec": CLAIM["spec"]}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod", "namespace": "a"},
    "spec": {
        "containers": [{"name": "main", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
    },
}
BROKEN = {
    "incomplete": (("pool", "resourceSliceCount"), 2, "kube-scheduler does not use its devices"),
    "invalid": (("devices",), [{"name": "d"}, {"name": "d"}], "kube-scheduler does not use its devices"),
    "unreadable": (("devices",), "none", "it counts as absent"),
    "refused": (("devices",), [{"name": "d", "attributes": {"a": {}}}], "it is used here as written"),
}
"""Ways to break a slice: path and value in its spec, and the reason that is given with the warning."""


def a_slice(node):
    """A slice of one device."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": [{"name": "d"}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def files(tmp_path, how):
    """The paths of a cluster with a good slice and a broken one, of a claim, and of a pod with its template."""
    broken, (path, value, _) = a_slice("n2"), BROKEN[how]
    inside = broken["spec"]
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = deepcopy(value)
    texts = {"cluster": [CLASS, a_slice("n1"), broken, CLAIM], "claim": [CLAIM], "pod": [TEMPLATE, POD]}
    paths = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, items in texts.items():
        paths[name].write_text("\n---\n".join(map(json.dumps, items)))
    return [str(path) for path in paths.values()]


ASKED = {
    "plan": ("plan", "CLUSTER", "--claim", "CLAIM"),
    "fleet": ("plan", "CLUSTER", "--claim", "CLAIM", "--replicas", "1"),
    "pod": ("plan", "CLUSTER", "--claim", "POD"),
    "json": ("plan", "CLUSTER", "--claim", "CLAIM", "--format", "json"),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_slice_is_a_warning_beside_an_answer_that_fits(how, asked, tmp_path, capsys):
    """The exit status is 0, nothing is an error, and the warning says what becomes of the slice."""
    named = dict(zip(("CLUSTER", "CLAIM", "POD"), files(tmp_path, how), strict=True))
    status = main([named.get(word, word) for word in ASKED[asked]])
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

"""A workload file with more replicas than can be planned, or than the API server accepts, is answered at once."""

from __future__ import annotations

import pytest

from dra_lab.cli import main

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  replicas: COUNT
  template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""


@pytest.fixture
def files(tmp_path):
    """Return a function that writes the workload with a count and the claim, and returns their paths."""

    def written(count):
        workload, claim = tmp_path / "w.yaml", tmp_path / "c.yaml"
        workload.write_text(WORKLOAD.replace("COUNT", count))
        claim.write_text(CLAIM)
        return str(workload), str(claim)

    return written


def test_more_replicas_than_are_planned_are_refused(files, tmp_path, capsys):
    """`export` names the number and the option that plans fewer."""
    workload, claim = files("2147483647")
    words = ["export", "sample:eks-p4d", "--claim", claim, "--workload", workload, "--dir", str(tmp_path / "out")]
    assert main(words) == 2
    assert "wants 2,147,483,647 replicas; at most 1,000,000 are planned" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["2147483648", "9" * 400])
def test_more_replicas_than_the_api_accepts_are_an_error(files, capsys, count):
    """`check` says that the API server refuses the count, in a short message."""
    workload, _ = files(count)
    assert main(["check", "sample:eks-p4d", workload]) == 1
    printed = capsys.readouterr()
    assert "is not a whole number from 0 to 2147483647" in printed.out + printed.err

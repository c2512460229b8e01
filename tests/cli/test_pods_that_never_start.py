"""plan, check and plan of replicas give one answer for a pod that kube-scheduler gives no devices on any node."""

from __future__ import annotations

import pytest

from dra_lab.cli import main
from dra_lab.exports import replay

DEVICE = """\
  - name: cpus{number}
    allowMultipleAllocations: true
    attributes:
      {attribute}: {value}
      resource.kubernetes.io/numaNode: {{int: {number}}}
    capacity: {{dra.cpu/cpu: {{value: "64"}}}}
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: worker-dra.cpu}
spec:
  driver: dra.cpu
  nodeName: worker
  pool: {name: worker, generation: 1, resourceSliceCount: 1}
  devices:
"""
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: cpus}}
spec:
  spec:
    devices:
      requests:
      - {{name: one, exactly: {{deviceClassName: dra.cpu, capacity: {{requests: {{dra.cpu/cpu: "{amount}"}}}}}}}}
      - {{name: two, exactly: {{deviceClassName: dra.cpu, capacity: {{requests: {{dra.cpu/cpu: "10"}}}}}}}}
      constraints: {constraints}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: work}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: d}]}}]
  resourceClaims: [{name: d, resourceClaimTemplateName: cpus}]
"""
ROOT = "resource.kubernetes.io/pcieRoot"
NOWHERE = "kube-scheduler finds no devices for this pod on any node, although an allocation exists"


@pytest.fixture
def answers(tmp_path, capsys):
    """Return a function: exit status and text of every command that answers for a claim."""

    def ask(attribute=ROOT, release="1.36", amount=10, constraints="[]", value="{strings: [a, b]}"):
        devices = "".join(DEVICE.format(number=number, attribute=attribute, value=value) for number in (0, 1))
        (tmp_path / "cluster.yaml").write_text(SLICE + devices)
        text = TEMPLATE.format(amount=amount, constraints=constraints)
        (tmp_path / "claim.yaml").write_text(text)
        (tmp_path / "pod.yaml").write_text(text + POD)
        cluster, claim, pod = (str(tmp_path / f"{name}.yaml") for name in ("cluster", "claim", "pod"))
        commands = {
            "plan": ["plan", cluster, "--claim", claim],
            "plan a pod": ["plan", cluster, "--claim", pod],
            "plan replicas": ["plan", cluster, "--claim", claim, "--replicas", "1"],
            "plan replicas of a pod": ["plan", cluster, "--claim", pod, "--replicas", "1"],
            "check": ["check", cluster, claim],
            "check a pod": ["check", cluster, pod],
        }
        found = {}
        for name, command in commands.items():
            status = main([*command, "--release", release])
            found[name] = status, "\n".join(capsys.readouterr())
        return found

    return ask


@pytest.mark.parametrize("attribute", [ROOT, "dra.cpu/roots"])
def test_a_constraint_over_lists_fits_where_kube_scheduler_compares_lists(answers, attribute):
    """kube-scheduler of 1.37 compares lists, so that every command exits 0."""
    found = answers(attribute, "1.37", constraints=f"[{{matchAttribute: {attribute}}}]")
    assert {name: status for name, (status, _) in found.items()} == dict.fromkeys(found, 0)


@pytest.mark.parametrize("attribute", [ROOT, "dra.cpu/roots"])
def test_a_constraint_over_lists_does_not_fit_where_kube_scheduler_compares_none(answers, attribute):
    """kube-scheduler of 1.36 allocates nothing for such a claim as written: every command exits 1 and says so."""
    found = answers(attribute, constraints=f"[{{matchAttribute: {attribute}}}]")
    told = {name: (status, NOWHERE in text, "compares no lists" in text) for name, (status, text) in found.items()}
    assert told == dict.fromkeys(found, (1, True, True))


def test_a_request_that_only_its_parts_can_serve_does_not_fit_as_written(answers):
    """An export would write two requests of 50 CPUs; the claim of 100 CPUs as written gets no device of 64."""
    found = answers(amount=100)
    told = {name: (status, NOWHERE in text) for name, (status, text) in found.items()}
    assert told == dict.fromkeys(found, (1, True))


def test_a_search_that_does_not_end_is_not_decided_for_every_command(answers, monkeypatch):
    """There is no time for a search here, so that every command exits 2."""
    monkeypatch.setattr(replay, "OWN_LIMIT", 0.0)
    found = answers()
    assert {name: status for name, (status, _) in found.items()} == dict.fromkeys(found, 2)


def test_pods_that_share_a_claim_over_lists_do_not_fit(answers, tmp_path, capsys):
    """Pods that name one ResourceClaim are answered together, by the same rule."""
    answers()
    claim = TEMPLATE.format(amount=10, constraints=f"[{{matchAttribute: {ROOT}}}]")
    claim = claim.replace("ResourceClaimTemplate", "ResourceClaim").replace("  spec:\n", "", 1)
    pods = "".join(
        POD.replace("name: work", f"name: work-{number}").replace("resourceClaimTemplateName", "resourceClaimName")
        for number in range(2)
    )
    (tmp_path / "pods.yaml").write_text(claim + pods)
    statuses = []
    for release in ("1.36", "1.37"):
        files = [str(tmp_path / f"{name}.yaml") for name in ("cluster", "pods")]
        statuses.append(main(["check", *files, "--release", release]))
    assert statuses == [1, 0], capsys.readouterr().out


def test_a_field_that_the_release_drops_is_told_in_the_same_words(answers):
    """Kubernetes 1.34 has no amounts: API servers drop them, so that no answer may say what kube-scheduler does."""
    found = answers("dra.cpu/other", "1.34", value="{int: 1}")
    why = "Does not fit: Request one: it asks for capacity, which Kubernetes 1.34 does not serve"
    told = {name: (status, why in text, "gives up" in text) for name, (status, text) in found.items()}
    assert told == dict.fromkeys(found, (1, True, False))

"""Workloads of a fleet from files that choose nodes or bring DeviceClasses: the same numbers as `dra-lab plan`."""

import json

import pytest

from dra_lab import Session, read_sketch
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.manifests.plan_files import decode_drawing, encode_drawing
from dra_lab.model.sketch import Drawing

SAMPLE = "sample:eks-p4d"
PODS = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: CLASS, count: 2}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 40
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      MORE
      containers: [{name: c, image: i}]
      resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
"""
OWN = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: own-gpu}
spec:
  selectors:
  - cel: {expression: 'device.driver == "gpu.nvidia.com"'}
---
"""
HOST = "kubernetes.io/hostname"


@pytest.fixture
def session():
    """Give a session of the shipped cluster without a drawing."""
    made = Session(SAMPLE)
    made.clear()
    yield made
    made.close()


@pytest.fixture
def written(tmp_path, session):
    """Return what writes the file of the Deployment with more in its spec, maybe with a DeviceClass of its own."""

    def write(name="serve", more="", own=""):
        used = "own-gpu" if own else "gpu.nvidia.com"
        text = PODS.replace("CLASS", used).replace("MORE", more).replace("count: 2", "count: 1" if own else "count: 2")
        path = tmp_path / f"{name}.yaml"
        path.write_text(own + text.replace("serve", name))
        return str(path)

    return write


def selector(session, number=1) -> str:
    """Return a required node affinity for some nodes."""
    names = ", ".join(session.cluster.node_names[:number])
    terms = f"nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [{names}]}}]}}]"
    return f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{{terms}}}}}}}"


def of_the_command(capsys, *files) -> tuple:
    """Return how many pods `dra-lab plan` places, how many more fit, and what is stranded."""
    claims = [word for file in files for word in ("--claim", file)]
    main(["plan", SAMPLE, *claims, "--replicas", "40", "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    more = [headroom["count"]["value"] for headroom in found["after"]["more"].values()]
    lost = [kind["stranded"] for kind in found["after"]["stranded"]["kinds"]]
    return found["pods"]["count"], more, lost


def of_the_fleet(session) -> tuple:
    """Return the same numbers of the session's fleet."""
    placed = len(session.fleet.plan().pods)
    answer = session.fleet.answer
    return (
        placed,
        [headroom.count.value for headroom in answer.headroom],
        [kind.stranded for kind in answer.stranded.kinds],
    )


@pytest.mark.parametrize("number", [1, 3])
def test_pods_for_some_nodes_have_the_numbers_of_the_command(session, written, capsys, number):
    file = written(more=selector(session, number))
    session.fleet.add_file(file)
    assert of_the_fleet(session) == of_the_command(capsys, file)
    assert set(session.fleet.answer.plan.nodes) <= set(session.cluster.node_names[:number])


def test_a_device_class_of_the_file_has_the_numbers_of_the_command(session, written, capsys):
    file = written(own=OWN)
    session.fleet.add_file(file)
    found = of_the_fleet(session)
    assert found[0] > 0
    assert found == of_the_command(capsys, file)


def test_nodes_that_a_change_adds_are_chosen_by_the_selector_too(session, written):
    """The selector is kept, not the names of the nodes that it admitted."""
    node = session.cluster.node_names[-1]
    session.fleet.add_file(written(more="nodeSelector: {node.kubernetes.io/instance-type: p4d.24xlarge}"))
    before = len(session.fleet.plan().pods)
    session.fleet.what_if(f"add 2={node}")
    assert len(session.fleet.plan().pods) > before


def test_workloads_for_other_nodes_are_not_planned_together(session, written):
    session.fleet.add_file(written(more=selector(session, 1)))
    session.fleet.add_file(written("other"))
    with pytest.raises(InputError, match="serve may run on 1 of 4 nodes and other on 4 of 4 nodes"):
        session.fleet.plan()
    session.fleet.remove("other")
    assert set(session.fleet.plan().nodes) == {session.cluster.node_names[0]}


def test_what_a_file_chooses_is_in_the_plan_file(session, written):
    session.fleet.add_file(written(more=selector(session), own=OWN))
    drawing = Drawing(workloads=session.fleet.workloads)
    assert decode_drawing(encode_drawing(drawing)).workloads == session.fleet.workloads


def test_an_export_says_that_an_example_chooses_no_nodes(session, written):
    """kube-scheduler may place its pods elsewhere."""
    session.fleet.add_file(written(more=selector(session)))
    session.fleet.set_replicas("serve", 1)
    session.show_mode("fleet")
    session.fleet.plan()
    session.exporting.open()
    assert session.exporting.wait(120)
    found = [one.message for one in session.exporting.plain.findings if one.rule == "pod-pins-not-written"]
    assert found == ["its file chooses nodes by affinity, and an example does not"]


def test_the_drawing_may_use_every_node(session, written):
    """Beside pods for some nodes only, it is refused as any other workload."""
    session.edit(read_sketch(f"{SAMPLE}/gpu-nic-pairs"))
    session.fleet.add_file(written(more=selector(session)))
    with pytest.raises(InputError, match="remove one"):
        session.fleet.plan()

"""`dra-lab plan --gang`: where a gang fits, what each domain lacks, how many more fit, and what schedulers find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from crd_schemas import problems
from small_manifests import request, template

from dra_lab.cli import main
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.topology.hierarchies import hierarchies

POD = "sample:h100-pod"
PAIRS = f"{POD}/eight-pairs"
LEAF = ["--level", "leaf switch"]


def planned(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    status = main(["plan", POD, "--claim", *(options or (PAIRS,))])
    found = capsys.readouterr()
    return status, found.out, found.err


def answer(capsys: pytest.CaptureFixture[str], *options: str):
    """Return the JSON of the command on the sample."""
    return json.loads(planned(capsys, *options, "-o", "json")[1])


@pytest.mark.parametrize("place", ["1=h100-01@h100-05", "4=h100-01@h100-05/h100-pod/leaf switch"])
def test_nodes_are_added_next_to_a_node(capsys, place):
    """`--add N=NODE@NEAR` puts them below the leaf switch of NEAR, or below a new one next to it."""
    status, out, _ = planned(capsys, PAIRS, "--gang", "4", *LEAF, "--add", place)
    assert (status, out.splitlines()[0].split(": ")[1]) == (0, "4 pods on 4 nodes. Every goal is proven optimal.")


@pytest.mark.parametrize(
    ("level", "prefer", "wanted"),
    [("leaf switch", "spine", 1), ("spine", "spine", 1), ("host", "leaf switch", 1), ("spine", "leaf switch", 0)],
)
def test_a_preferred_level_outside_the_required_one_is_remarked(capsys, level, prefer, wanted):
    found = answer(capsys, PAIRS, "--gang", "2", "--level", level, "--prefer-level", prefer)
    assert [one["rule"] for one in found["findings"]].count("gang-prefer-level") == wanted


def test_an_unknown_level_is_reported_with_the_levels_of_the_cluster(capsys):
    status, _, err = planned(capsys, PAIRS, "--gang", "3", "--level", "leaf")
    assert (status, err) == (
        2,
        (
            "error: there is no level 'leaf' in the cluster; did you mean 'leaf switch'? "
            "Its levels are: spine, leaf switch, zone [dra-lab help input-error]\n"
        ),
    )


def test_a_level_may_be_a_label_or_name_its_hierarchy(capsys):
    spellings = ["leaf switch", "topology.example.com/leaf", "h100-pod:leaf switch"]
    assert {planned(capsys, PAIRS, "--gang", "3", "--level", one, "-q")[1] for one in spellings} == {
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.\n"
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([PAIRS, *LEAF], "--level is for a gang"),
        ([PAIRS, "--gang", "3", "--node", "h100-01"], "--node is for one claim"),
        ([PAIRS, "--gang", "3", "--goals", "numa"], "--goals is not for gangs"),
        ([PAIRS, "--gang", "3", "--objective", "nodes"], "--objective is for replicas"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, expected, capsys):
    status, _, err = planned(capsys, *options)
    assert (status, expected in err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["--gang", "3", "--claim", PAIRS],
        ["--claim", PAIRS, "--gang", "3", "--gang", "4"],
        ["--claim", PAIRS, "--gang", "0"],
    ],
)
def test_options_of_a_claim_come_after_it_once(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", POD, *words])
    assert (ended.value.code, "--gang" in capsys.readouterr().err) == (2, True)


def test_an_unknown_queue_leaves_the_answer_about_devices(capsys):
    status, _, err = planned(capsys, PAIRS, "--gang", "3", *LEAF, "--queue", "trian")
    assert (status, "there is no LocalQueue and no ClusterQueue 'trian'" in err) == (0, True)


CLAIM = template("eight", request("gpu", "gpu.nvidia.com", "count: 8")) + "---\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: topology.example.com/leaf}}
    spec:
      restartPolicy: Never
      resourceClaims: [{name: gpus, resourceClaimTemplateName: eight}]
      containers: [{name: main, image: train, resources: {requests: {cpu: CPUS}, claims: [{name: gpus}]}}]
"""


def answer_of_file(capsys: pytest.CaptureFixture[str], *options: str):
    """Return the JSON of the command on the sample."""
    main(["plan", POD, "--claim", *options, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_files_of_an_export_are_planned_as_the_gang(scheduler, tmp_path, capsys):
    cluster = load_cluster(POD)
    tree = hierarchies(cluster)[0]
    worker = PodGroup("worker", read_sketch(f"{POD}/eight-pairs"), count=3)
    gang = Workload("train", [worker], level="leaf switch", hierarchy=tree.name)
    for name, text in gang_files(gang, scheduler, tree, cluster=cluster, queue="team-a").texts.items():
        (tmp_path / name).write_text(text)
    status = main(["plan", POD, "--claim", str(tmp_path), "-q"])
    assert (status, capsys.readouterr().out.splitlines()[0]) == (
        0,
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.",
    )


def test_a_job_without_a_word_of_gangs_is_none(tmp_path, capsys):
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    assert answer_of_file(capsys, str(file))["kind"] == "Plan"


def test_it_is_a_gang_with_the_option(tmp_path, capsys):
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    [gang] = answer_of_file(capsys, str(file), "--gang", "4")["workloads"]
    assert (gang["name"], gang["pods"][0]["count"], gang["level"]) == ("train", 4, "")


def test_a_size_for_several_groups_is_refused(tmp_path, capsys):
    file = tmp_path / "jobset.yaml"
    pod = JOB.replace("CPUS", "1").partition("  template:\n")[2].replace("\n    ", "\n            ").rstrip()
    template = f"        template:\n            {pod.lstrip()}"
    jobs = "\n".join(f"  - name: {name}\n    template:\n      spec:\n{template}" for name in ("a", "b"))
    head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n  replicatedJobs:\n"
    file.write_text(CLAIM + head + jobs)
    assert main(["plan", POD, "--claim", str(file), "--gang", "2"]) == 2
    assert "is for one group of pods" in capsys.readouterr().err


POD_SPEC = """
      spec:
        resourceClaims: [{name: gpus, resourceClaimTemplateName: eight}]
        containers: [{name: main, image: serve, resources: {claims: [{name: gpus}]}}]"""
GANG = [POD, "--claim", f"{POD}/eight-pairs", "--gang", "3", "--level", "leaf switch", "--queue", "training/train"]


def exported(folder: Path, *options: str) -> int:
    return main(["export", *GANG, "--dir", str(folder), *options])


def test_same_is_refused_for_pods_that_keep_their_claims(tmp_path, capsys):
    file = str(Path(__file__).parents[1] / "golden" / "inputs" / "kueue-job.yaml")
    words = ["export", POD, "--claim", file, "--same", "resource.kubernetes.io/pcieRoot", "--queue", "training/train"]
    assert main([*words, "--scheduler", "kueue", "--workload", file, "--dir", str(tmp_path / "out")]) == 2
    assert "--same writes selectors into claims" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_configuration_is_not_applied(tmp_path, capsys):
    """kueue-configuration.yaml is a part of Kueue's own file, so that neither kustomize nor -o yaml has it."""
    exported(tmp_path, "--scheduler", "kueue")
    capsys.readouterr()
    main(["export", *GANG, "--scheduler", "kueue", "-o", "yaml"])
    applied = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"]
    assert ("kueue-configuration.yaml" in applied, "Configuration" in capsys.readouterr().out) == (False, False)


LEADERS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 3
    leaderTemplate:{0}
    workerTemplate:{0}
""".replace("{0}", POD_SPEC)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_leader_and_workers_of_a_file_become_a_gang_with_the_level_of_the_option(scheduler, tmp_path):
    (tmp_path / "serve.yaml").write_text(CLAIM + LEADERS)
    file = str(tmp_path / "serve.yaml")
    options = [POD, "--claim", file, "--level", "leaf switch", "--queue", "training/train", "--workload", file, "--pin"]
    assert main(["export", *options, "--scheduler", scheduler, "--dir", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "serve.yaml").read_text()
    files = [path for path in (tmp_path / "out").glob("*.yaml") if path.name != "kustomization.yaml"]
    documents = [one for path in files for one in yaml.safe_load_all(path.read_text())]
    assert [problem for one in documents for problem in problems(one)] == []
    assert (text.count("- leaf-"), "*id" in text) == (2, False)


def test_a_gang_without_a_place_is_written_only_if_a_person_accepts_it(tmp_path, capsys):
    large = ["export", POD, "--claim", f"{POD}/eight-pairs", "--gang", "4", "--level", "leaf switch", "--queue", "q"]
    options = [*large, "--scheduler", "kai", "--dir", str(tmp_path / "new")]
    assert (main(options), (tmp_path / "new").exists()) == (1, False)
    assert (main([*options, "--allow-worse"]), (tmp_path / "new").exists()) == (1, True)


def test_files_that_the_scheduler_refuses_are_not_written(tmp_path, capsys):
    """Without a queue Kueue does not manage the Job."""
    status = main(["export", *GANG[:-2], "--scheduler", "kueue", "--dir", str(tmp_path / "new")])
    said = capsys.readouterr().err
    refused = "nothing is written. without the label kueue" in said
    assert (status, (tmp_path / "new").exists(), refused) == (1, False, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([*GANG], "--scheduler is missing"),
        ([*GANG[:3], "--scheduler", "kai"], "--scheduler kai is for a gang"),
        ([*GANG, "--scheduler", "kai", "--example", "job"], "--example is not for the files of a gang"),
        ([*GANG, "--scheduler", "kai", "--report"], "--report is not for the files of a gang"),
        ([*GANG[:5], "--scheduler", "kai", "--pin", "--queue", "q"], "--pin holds a gang to its planned domain"),
        ([*GANG, "--scheduler", "kai", "--claim", f"{POD}/eight-pairs"], "one gang is exported at a time"),
        ([*GANG, "--scheduler", "kai", "--node", "h100-01"], "--node is for one claim"),
    ],
)
def test_options_that_an_export_cannot_have_are_refused(options, expected, tmp_path, capsys):
    status = main(["export", *options, "--dir", str(tmp_path / "new")])
    assert (status, expected in capsys.readouterr().err, (tmp_path / "new").exists()) == (2, True, False)


def test_the_containers_of_a_file_are_not_in_the_export(tmp_path, capsys):
    exported(tmp_path / "one", "--scheduler", "kai")
    main(["export", POD, "--claim", str(tmp_path / "one"), "--queue", "q", "--scheduler", "kueue", "-o", "yaml"])
    assert "the files have example pods" in capsys.readouterr().err

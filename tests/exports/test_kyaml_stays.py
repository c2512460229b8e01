"""KYAML stays KYAML: written, changed in place, migrated, and patched with a claim."""

import copy
import random
from pathlib import Path

import pytest
import yaml
from gitops.manifests_written import write
from test_manifest_text import ON, PAIRS, R136

from dra_lab.exports.manifests import manifest_files
from dra_lab.exports.workload import kustomize_patch, patch_copy
from dra_lab.exports.workload_file import read_workload
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.migration import migrate
from dra_lab.manifests.kyaml import dump_kyaml, is_kyaml
from dra_lab.manifests.yaml_edits import with_values
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.sketch.manifest_target import Target

SHARED = Path(__file__).parents[2] / ".." / "shared" / "real-files" / "manifests" / "kubernetes+website"
CLAIM = manifest_files(PAIRS, ON, Target(R136)).claims[0]
JOB = """\
---
# trains the model
{
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: {
    name: "train", # its name
  },
  spec: {
    template: {
      spec: {
        containers: [{
          name: "main",
          image: "y",
          resources: {
            limits: {
              cpu: 4,
              "nvidia.com/gpu": 4,
            },
            requests: {
              "nvidia.com/gpu": 4,
            },
          },
        }],
        restartPolicy: "Never",
      },
    },
  },
}
---
{
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {name: "untouched"},
}
"""


def same_style(text):
    """Every key and bracket is where KYAML has it: writing the parsed value in KYAML gives the lines of the text."""
    values = [document.value for document in load_yaml(text)]
    return "".join(map(dump_kyaml, values))


def test_a_migrated_workload_stays_kyaml(tmp_path):
    """The workload keeps its form and comments, and the template beside it is KYAML too."""
    found = migrate(read_manifests([write(tmp_path, job=JOB)])).texts
    job, template = found["job.yaml"], found["train-devices.yaml"]
    assert all(is_kyaml(text) for text in (job, template))
    assert template == same_style(template)
    gone = [line.strip() for line in JOB.splitlines() if line not in job.splitlines()]
    assert gone == ['"nvidia.com/gpu": 4,', "requests: {", '"nvidia.com/gpu": 4,']
    spec = next(yaml.safe_load_all(job))["spec"]["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "train-devices"}]
    resources = {"limits": {"cpu": 4}, "claims": [{"name": "devices", "request": "gpu"}]}
    assert spec["containers"][0]["resources"] == resources


def test_a_patched_workload_stays_kyaml(tmp_path):
    """The copy with the claim differs by the claim's lines only; a kustomize patch is KYAML too."""
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    workload = read_workload(file)
    text = patch_copy(workload, CLAIM).text
    assert [line for line in JOB.splitlines() if line not in text.splitlines()] == []
    spec = next(yaml.safe_load_all(text))["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"]["claims"][0]["name"] == spec["resourceClaims"][0]["name"]
    patch = kustomize_patch(workload, CLAIM).text
    assert patch == same_style(patch)
    file.write_text(text)
    assert patch_copy(read_workload(file), CLAIM).text == text


@pytest.mark.parametrize("seed", range(40))
def test_only_what_differs_is_written_anew(seed):
    """Whatever entries and items change, the text has the new value; without a change it is the same text."""
    random_ = random.Random(seed)
    values = [document.value for document in load_yaml(JOB)]
    assert with_values(JOB, copy.deepcopy(values)) == JOB
    for _ in range(3):
        _change(values[0], random_)
    text = with_values(JOB, values)
    assert [document.value for document in load_yaml(text)] == values
    assert text.endswith(JOB[JOB.rindex("---") :])


def _change(value, random_):
    if isinstance(value, dict) and value and random_.random() < 0.7:
        _change(value[random_.choice(list(value))], random_)
    elif isinstance(value, list) and value and random_.random() < 0.7:
        _change(value[random_.randrange(len(value))], random_)
    elif isinstance(value, dict):
        value[f"new.io/{random_.randrange(9)}"] = random_.choice([1, "no", True, None, {"a": []}, [{"b": "c\nd"}], {}])
        if random_.random() < 0.5:
            del value[random_.choice(list(value))]
    elif isinstance(value, list):
        value.append(random_.choice([{"name": "x", "list": [1, "a"]}, {"n": {}}]))


def test_kyaml_is_distinguished_from_json_and_block_style():
    """KYAML begins with a brace, under its header or a comment, and is no JSON."""
    assert is_kyaml(JOB)
    assert is_kyaml("{a: 1,}\n")
    assert not is_kyaml('{"a": 1}\n')
    assert not is_kyaml("a: {b: 1}\n")
    assert not is_kyaml("")


def test_a_published_file_is_written_as_it_is():
    """The object of a KYAML file of kubernetes.io is written as the file has it."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not there")
    text = (SHARED / "dra-device-metadata-template-pod.yaml").read_text(encoding="utf-8")
    assert text.startswith(dump_kyaml(next(load_yaml(text)).value))

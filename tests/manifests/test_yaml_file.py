"""A file with a few values changed: comments, quotes, indentation and what did not change stay."""

import copy
import json
import random

import pytest
import yaml

from dra_lab.errors import ManifestError
from dra_lab.manifests.yaml_file import YamlFile

BLOCK = """\
# top
kind: Job  # kind
metadata:
  name: "train"   # its name
  labels: {app: train, 'tier': x}
spec:
  # the pods
  parallelism: 4
  template:
    spec:
      containers:
      # the model
      - name: main
        image: 'y'   # pinned
        command:
        - run
        - |
          echo "# no comment"
          sleep 1

        resources:   # what it asks
          limits:
            cpu: 4   # four
            memory: 1Gi
            # below
      - {name: side, env: []}
      restartPolicy: Never
      # end of the pod
  suspend:
# end
"""
DEEP = """\
kind: A
list:
  - name: a   # a
    inner:
      - 1
      # one
  - name: b
empty: []
none: {}
"""
KYAML = """\
# over it
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
          resources: {
            limits: {
              cpu: 4,
              "nvidia.com/gpu": 4, # four
            },
          },
        }],
        restartPolicy: "Never",
      },
    },
  },
}
"""
FLOW = "{kind: A, metadata: {name: a, labels: {x: 'y'}}, items: [1, two, {a: b}], none: null}  # flow\n"
ANCHORS = """\
a: &one {x: 1}
b:
  <<: *one
  y: 2
c:
- *one
- z: 1
d: *one
e: 1   # e
"""
TEXTS = {
    "block": BLOCK,
    "deep": DEEP,
    "kyaml": KYAML,
    "flow": FLOW,
    "windows": BLOCK.replace("\n", "\r\n"),
    "no last break": DEEP.rstrip("\n"),
    "json": json.dumps(yaml.safe_load(KYAML), indent=3) + "\n",
    "json in one line": json.dumps(yaml.safe_load(KYAML)) + "\n",
}
LAST = "---\nlast: 'one'   # last\n"
KEPT = ("# top", "# kind", "# its name", "# the pods", "# the model", "# end", "# over it", "# one", "# flow")
NEW = [1, 2.5, "no", "a: b", "x # y", True, None, {"a": []}, [{"b": "c\nd"}], {}, [], {"k/y": {"n": [{"m": 1}, {}]}}]


def changed(value, draw):
    """Change one place of a value: an entry more, less or another, or an item more."""
    inner = [
        one for one in (value.values() if isinstance(value, dict) else value) if isinstance(one, dict | list) and one
    ]
    if inner and draw.random() < 0.7:
        changed(draw.choice(inner), draw)
    elif isinstance(value, list):
        value.append(copy.deepcopy(draw.choice(NEW)))
    else:
        name = draw.choice([*value, f"new.io/{draw.randrange(9)}"])
        if name in value and len(value) > 1 and draw.random() < 0.4:
            del value[name]
        else:
            value[name] = copy.deepcopy(draw.choice(NEW))


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("name", TEXTS)
def test_a_changed_file_has_the_values_and_the_rest_of_the_text(name, seed):
    """Whatever entries and items change, comments, line breaks and other documents stay."""
    draw, last = random.Random(seed), "" if "json" in name or name == "no last break" else LAST
    text = TEXTS[name] + last
    file = YamlFile(text)
    assert file.text() == text
    others = copy.deepcopy([*file.values.values()][1:])
    for _ in range(3):
        changed(file.values[1], draw)
    after = file.text()
    assert [*yaml.safe_load_all(after)] == [file.values[1], *others]
    assert after.endswith(last)
    assert "\r\n" not in text or after.count("\r\n") == after.count("\n") - last.count("\n")
    kept = KEPT if name != "kyaml" else ("# over it",)
    assert [comment for comment in kept if comment in text and comment not in after] == []


def test_what_is_new_looks_like_what_is_beside_it():
    """Lists are as deep, quotes are the same, and KYAML stays KYAML."""
    claims = [{"name": "devices", "request": "gpu"}]

    def with_claims(text, path):
        file = YamlFile(text)
        file.at(1, path)["claims"] = claims
        return [line for line in file.text().splitlines() if line not in text.splitlines()]

    container = "spec.template.spec.containers[0].resources"
    assert with_claims(BLOCK, container) == [
        "          claims:",
        "          - name: devices",
        "            request: gpu",
    ]
    assert with_claims(DEEP, "list[1]") == ["    claims:", "      - name: devices", "        request: gpu"]
    assert with_claims(FLOW, "metadata.labels")[0].startswith(
        "{kind: A, metadata: {name: a, labels: {x: 'y', claims: [{name: devices, request: gpu}]}}, items"
    )
    assert with_claims(KYAML, container) == [
        "            claims: [{",
        '              name: "devices",',
        '              request: "gpu",',
        "            }],",
    ]


def test_an_alias_stays_where_something_else_changes():
    """Entries behind an alias and a merge key are added after them."""
    file = YamlFile(ANCHORS)
    file.at(1, "b")["new"] = 1
    file.at(1, "c").append("n")
    file.at(1, "")["f"] = [1]
    assert (
        file.text()
        == ANCHORS.replace("  y: 2\n", "  y: 2\n  new: 1\n").replace("- z: 1\n", "- z: 1\n- n\n") + "f:\n- 1\n"
    )


@pytest.mark.parametrize("path", ["a", "b", "d", "c[0]"])
def test_a_value_that_an_anchor_shares_is_refused(path):
    """One place cannot change without the other; the message names the document."""
    file = YamlFile(f"---\n{ANCHORS}", "a.yaml")
    file.at(1, path)["x"] = 2
    with pytest.raises(ManifestError, match="an anchor") as refusal:
        file.text()
    assert str(refusal.value.origin) == "a.yaml, document 1"


def test_the_first_key_behind_a_dash_can_go():
    """The next one stands there, with the comments of the line."""
    file = YamlFile("- a: 1  # one\n  b: 2\n- c: 3\n")
    del file.at(1, "[0]")["a"]
    assert file.text() == "- # one\n  b: 2\n- c: 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{\n  a: 1, # one\n  b: 2, # two\n}\n", "{\n  # one\n  b: 2, # two\n}\n"),
        ("{\n  b: 2, # two\n  a: 1, # one\n}\n", "{\n  b: 2, # two\n  # one\n}\n"),
        ("{\n  b: 2, # two\n  a: 1 # one\n}\n", "{\n  b: 2 # two\n   # one\n}\n"),
        ("{\n  a: {\n    # in\n    x: 1,\n  },\n  b: 2,\n}\n", "{\n  # in\n  b: 2,\n}\n"),
        ("{a: 1, b: 2}\n", "{b: 2}\n"),
        ("{b: 2, a: 1, c: 3}\n", "{b: 2, c: 3}\n"),
        ("{b: 2, a: 1}  # one\n", "{b: 2}  # one\n"),
        ("a: 1  # one\n# two\nb: 2\n", "# one\n# two\nb: 2\n"),
        ("b: 2\na:\n  - x  # one\n  # two\n", "b: 2\n# one\n  # two\n"),
    ],
)
def test_the_comments_of_what_goes_stay(before, after):
    """A comment behind or in an entry that is removed has a line of its own."""
    file = YamlFile(before)
    del file.values[1]["a"]
    assert file.text() == after

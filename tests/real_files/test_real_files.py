"""Every real file through `topology`, `plan`, `check` and `migrate`: the expected outcome, and no contradiction.

`expected_outcomes.tsv` has one row for each file. The row contains the file, the cluster that it is compared with
(`answers` in `real_file_runs`), the expected outcome of each command, and the reason for outcomes other than 0. A tenth
of the files of each project runs in `make test`, all of them in `make test-long`.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from contradictions import of_command
from real_file_runs import COMMANDS, REAL, Answer, answers, cluster_of, run

from dra_lab.sources import load_cluster

TABLE = Path(__file__).parent / "expected_outcomes.tsv"
MISSING = pytest.mark.skipif(not REAL.is_dir(), reason=f"there are no real files in {REAL}")


@cache
def rows() -> Mapping[str, Mapping[str, str]]:
    """Return the rows of the table by file."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file, delimiter="\t")}


def tenth() -> list[str]:
    """Return a tenth of the files of each project, at least one, chosen by their names."""
    projects: dict[tuple[str, ...], list[str]] = {}
    for name in rows():
        projects.setdefault(Path(name).parts[:-1][:2], []).append(name)
    chosen = (
        sorted(names, key=lambda name: zlib.crc32(name.encode()))[: -(-len(names) // 10)] for names in projects.values()
    )
    return sorted(name for names in chosen for name in names)


def faults(name: str, found: Mapping[str, Answer], cluster: str) -> Iterator[str]:
    """Yield the contradictions in the answers about a file, and between `plan` and `check` of one claim."""
    announced = any("this DeviceClass is not in" in answer.text for answer in found.values())
    drivers = load_cluster(cluster).drivers if announced else ()
    for command, answer in found.items():
        for fault in of_command(command, answer.status, answer.out, answer.err, drivers):
            yield f"{command}: {fault}"
    own_claim = rows()[name]["cluster"].startswith(("claim:", "topology"))
    if own_claim and {"plan", "check"} <= set(found) and found["plan"].status != found["check"].status:
        yield f"plan answers {found['plan'].word}, check answers {found['check'].word}"


def held(name: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return the outcomes of the commands on a file, and what is wrong with the answers."""
    row = rows()[name]
    found = answers(name, row["cluster"], folder)
    outcomes = {command: found[command].word for command in COMMANDS}
    return outcomes, list(faults(name, found, cluster_of(name, row["cluster"], folder)))


def expected(name: str) -> dict[str, str]:
    """Return the outcomes that the table expects of a file."""
    return {command: rows()[name][command] for command in COMMANDS}


@MISSING
def test_every_real_file_has_a_row():
    """The table has one row for each real file, and a reason for each outcome that is not 0."""
    there = {path.relative_to(REAL).as_posix() for path in REAL.rglob("*") if path.is_file()} - {"INDEX.md"}
    assert (sorted(there - set(rows())), sorted(set(rows()) - there)) == ([], [])
    assert [name for name, row in rows().items() if not row["why"] and not _all_well(row)] == []


def _all_well(row: Mapping[str, str]) -> bool:
    # a manifest is no topology file, which needs no reason of its own
    return all(row[command].startswith("0 ") for command in COMMANDS[1:])


@pytest.mark.some(15)
@MISSING
@pytest.mark.parametrize("name", tenth(), ids=str)
def test_a_tenth_of_the_real_files(name, tmp_path):
    """Each command answers a real file as expected, and no answer contradicts itself."""
    assert held(name, tmp_path) == (expected(name), [])


@MISSING
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(rows()) - set(tenth())), ids=str)
def test_the_other_real_files(name, tmp_path):
    """Each command answers a real file as expected, and no answer contradicts itself."""
    assert held(name, tmp_path) == (expected(name), [])


@MISSING
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(rows()), ids=str)
def test_json_says_what_the_text_says(name, tmp_path):
    """`plan` and `check` end with the same status as JSON and as text, and the JSON does not contradict itself."""
    found = answers(name, rows()[name]["cluster"], tmp_path, ("plan", "check"), more=("-o", "json"))
    assert {command: answer.word for command, answer in found.items()} == {
        command: rows()[name][command] for command in ("plan", "check")
    }
    assert list(faults(name, found, cluster_of(name, rows()[name]["cluster"], tmp_path))) == []


PAIR = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}
    - {name: nic, exactly: {deviceClassName: CLASS}}
"""


@pytest.mark.parametrize(
    ("device_class", "plan", "check"),
    [("dranet", "0 fits", "0 fits"), ("nothing.example.org", "1 does not fit", "1 does not fit")],
)
def test_the_commands_answer_a_file_of_our_own(device_class, plan, check, tmp_path):
    """`topology`, `plan`, `check` and `migrate` answer a claim without contradicting each other or themselves."""
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR.replace("CLASS", device_class), encoding="utf-8")
    found = {
        "topology": run("topology", str(path)),
        "plan": run("plan", "sample:eks-p4d", "--claim", str(path)),
        "check": run("check", "sample:eks-p4d", str(path)),
        "migrate": run("migrate", "sample:eks-p4d", str(path), "--dir", str(tmp_path / "migrated")),
    }
    words = {command: answer.word for command, answer in found.items()}
    assert words == {"topology": "2 refused", "plan": plan, "check": check, "migrate": "0 migrated"}
    assert [fault for c, a in found.items() for fault in of_command(c, a.status, a.out, a.err, ("dra.net",))] == []


def test_a_template_is_refused_by_migrate(tmp_path):
    """`migrate` refuses a file that is a template alone: it has read nothing of it."""
    path = tmp_path / "pod.yaml"
    path.write_text("kind: Pod\nmetadata: {name: {{ .Values.name }}}\n", encoding="utf-8")
    answer = run("migrate", "sample:eks-p4d", str(path), "--dir", str(tmp_path / "migrated"))
    assert (answer.word, "helm template" in answer.err) == ("2 refused", True)

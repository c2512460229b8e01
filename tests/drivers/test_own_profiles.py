"""What is known of a driver without a data file: a guess from names, or a person's own profile, and where both show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dra_lab
from dra_lab.cli import main
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.pictures.hardware import hardware_svg


def an_attribute(name: str) -> dict[str, object]:
    return {name: {"string": "x"}}


def documents(driver: str, attributes: dict[str, object], classes: dict[str, str]) -> str:
    """Return a node with a GPU that dra_lab knows and a device of a driver, and DeviceClasses by name and selector."""
    slices = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"slice-{number}"},
            "spec": {
                "driver": name,
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"d{number}", "attributes": published}],
            },
        }
        for number, (name, published) in enumerate(
            ((driver, attributes), ("gpu.nvidia.com", {"type": {"string": "gpu"}}))
        )
    ]
    found = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": text}}]},
        }
        for name, text in classes.items()
    ]
    return "\n".join(json.dumps(item) for item in (*slices, *found))


@pytest.fixture
def cluster_of(tmp_path):
    """Return a function that loads such a cluster; its file is cluster.json."""

    def load(driver, attributes=(), classes=None, **given):
        merged = {name: value for name in attributes for name, value in an_attribute(name).items()}
        (tmp_path / "cluster.json").write_text(documents(driver, merged, classes or {}))
        return dra_lab.load_cluster(tmp_path / "cluster.json", **given)

    return load


def kind_in_all(cluster) -> set[str]:
    return set(dra_lab.frame(cluster).kind)


def kind_in(cluster, driver: str) -> str:
    frame = dra_lab.frame(cluster)
    return frame[frame.device.str.startswith(f"{driver}/")].kind.item()


OURS = 'device.driver == "acme.example.com"'
BY_NAME = [
    ("npu.acme.io", "gpu (guessed)"),
    ("acme-tpus.example.com", "gpu (guessed)"),
    ("accelerator.example.com", "gpu (guessed)"),
    ("roce.acme.io", "nic (guessed)"),
    ("rdma-nic.example.com", "nic (guessed)"),
    ("gpu0.acme.net", "gpu (guessed)"),
    ("dra.net.example.com", "nic (guessed)"),
    ("cpu.acme.io", "cpu (guessed)"),
    ("memory.acme.io", "memory (guessed)"),
    ("fpga.example.org", "other"),
    ("magnet.acme.io", "other"),
    ("acme.net", "other"),
    ("storage.acme.net", "other"),
    ("gpunet.acme.io", "other"),
    ("tpu.google.com", "gpu"),
]
BY_CLASSES = [
    ({"big-npu": OURS}, "gpu (guessed)"),
    ({"nic": f'{OURS} && device.attributes["acme.example.com"].x == "x"'}, "nic (guessed)"),
    ({"nic": 'device.attributes["acme.example.com"].x == "x"'}, "nic (guessed)"),
    ({"gpu": OURS, "npu-large": OURS}, "gpu (guessed)"),
    ({"gpu": OURS, "nic": OURS}, "other"),
    ({"gpu": 'device.driver == "gpu.nvidia.com"'}, "other"),
    ({"gpu": "true"}, "other"),
    ({"gpu": 'device.driver != "acme.example.com"'}, "other"),
    ({"magnet": OURS}, "other"),
]
BY_ATTRIBUTES = [
    (["gpuModel"], "gpu (guessed)"),
    (["model", "isRDMA"], "nic (guessed)"),
    (["numCPUs"], "cpu (guessed)"),
    (["memoryType"], "memory (guessed)"),
    (["acme.example.com/npu_cores"], "gpu (guessed)"),
    (["gpuModel", "localCpus", "memoryType"], "gpu (guessed)"),
    (["gpuDirect", "rdmaDevice"], "other"),
    (["magnetType", "resource.kubernetes.io/numaNode"], "other"),
    (["dra.net/rdma"], "other"),
]
GUESSES = [(driver, (), {}, kind) for driver, kind in BY_NAME]
GUESSES += [("acme.example.com", ["x"], classes, kind) for classes, kind in BY_CLASSES]
GUESSES += [("acme.example.com", attributes, {}, kind) for attributes, kind in BY_ATTRIBUTES]


@pytest.mark.parametrize(("driver", "attributes", "classes", "kind"), GUESSES)
def test_the_kind_of_an_unknown_driver_is_guessed(cluster_of, driver, attributes, classes, kind):
    """By the first word with a kind in its name, else by classes that select it, else by its attributes, if they agree.

    Whole words count, the top-level domain does not, and a driver with a data file is never guessed. A class that does
    not name the driver, or refuses it, says nothing. Only attributes in the driver's own domain count; nearby CPUs and
    memory give way to accelerators and networks.
    """
    assert kind_in(cluster_of(driver, attributes, classes), driver) == kind


def test_the_drivers_name_comes_before_classes_and_these_before_attributes(cluster_of):
    """The source that is nearest to the driver decides alone."""
    npus = {"npu": OURS.replace("acme", "fpga")}
    assert kind_in(cluster_of("fpga.example.com", ["gpuModel"], npus), "fpga.example.com") == "other"
    assert kind_in(cluster_of("acme.example.com", ["gpuModel"], {"nic": OURS}), "acme.example.com") == "nic (guessed)"


def test_a_guess_is_marked_in_text_counts_and_picture(cluster_of):
    """A known GPU beside guessed ones keeps the count honest."""
    cluster = cluster_of("npu.acme.io")
    assert "2 GPUs (1 guessed)" in str(cluster)
    assert "gpu (guessed)" in str(cluster)
    picture = hardware_svg(cluster, "n1")
    assert "GPU (guessed) d0, npu.acme.io" in picture
    assert "GPU d1" in picture


@pytest.mark.parametrize(
    ("driver", "name", "attribute"),
    [
        ("npu.acme.io", "large", "model"),
        ("acme.example.com", "npu", "model"),
        ("acme.example.com", "large", "gpuModel"),
    ],
    ids=["driver", "class", "attribute"],
)
def test_stranded_devices_are_of_the_guessed_kind(cluster_of, driver, name, attribute):
    """The planner counts a device under the kind that the frame shows, whatever gave it."""
    cluster = cluster_of(driver, [attribute], {name: f'device.driver == "{driver}"'})
    pair = ExactDeviceRequest(device_class_name=name, count=2)
    claim = dra_lab.ClaimSketch("pair", (DeviceRequest(name="one", exactly=pair),))
    (node,) = dra_lab.stranded(cluster, [claim]).nodes
    assert {kind.kind for kind in node.kinds} == {kind_in(cluster, driver).removesuffix(" (guessed)")} == {"gpu"}


DATA = Path(dra_lab.__file__).parent / "drivers" / "data"
NO_PROFILES = ("device_plugins.yaml", "machines.yaml", "pci_models.yaml")
OWN = {"driver": "npu.acme.io", "title": "Acme NPU", "kinds": [{"kind": "nic"}]}


def test_a_profile_replaces_the_guess_for_its_cluster_only(cluster_of):
    """A second cluster of the same file is guessed as before."""
    assert kind_in(cluster_of("npu.acme.io", drivers=OWN), "npu.acme.io") == "nic"
    assert kind_in(cluster_of("npu.acme.io"), "npu.acme.io") == "gpu (guessed)"


def test_a_profile_replaces_a_shipped_one():
    """Its labels are gone too: what is known of a driver is one profile."""
    known = dra_lab.load_cluster("sample:two-sockets")
    ours = dra_lab.load_cluster("sample:two-sockets", drivers={"gpu.nvidia.com": {"kinds": [{"kind": "other"}]}})
    assert ("NVIDIA A100" in str(known), "NVIDIA A100" in str(ours)) == (True, False)
    assert "gpu" not in kind_in_all(ours)


def test_a_copy_of_a_shipped_profile_changes_nothing():
    """Each data file has the form of a person's own, so a person may copy one and correct it."""
    files = [file for file in DATA.glob("*.yaml") if file.name not in NO_PROFILES]
    given = dra_lab.load_cluster("sample:eks-p4d", drivers=files)
    assert len(given.profiles) == len(files) > 15
    assert str(given) == str(dra_lab.load_cluster("sample:eks-p4d"))


def test_a_profile_gives_places_and_offers(cluster_of):
    """The level that a driver publishes under a name of its own is a place once the profile says so."""
    profile = OWN | {"topology": {"numaNode": ["npu.acme.io/zone"]}}
    frame = dra_lab.frame(cluster_of("npu.acme.io", ["zone"], drivers=profile))
    assert frame.numa_source.tolist()[-1] == "npu.acme.io/zone"


@pytest.mark.parametrize("form", ["file", "files", "value", "values", "by driver", "documents"])
def test_profiles_are_files_or_values(cluster_of, tmp_path, form):
    """One or several, and profiles by driver."""
    file = tmp_path / "own.yaml"
    file.write_text(("driver: x.acme.io\n---\n" if form == "documents" else "") + json.dumps(OWN))
    rest = {name: part for name, part in OWN.items() if name != "driver"}
    given = {
        "file": file,
        "files": [str(file)],
        "value": OWN,
        "values": [OWN],
        "by driver": {"npu.acme.io": rest},
        "documents": file,
    }[form]
    assert kind_in(cluster_of("npu.acme.io", drivers=given), "npu.acme.io") == "nic"


def test_a_planner_takes_profiles_for_each_cluster_that_it_loads(cluster_of, tmp_path):
    """They belong to the session, and a kind that was set there comes before them."""
    cluster_of("npu.acme.io")
    lab = dra_lab.Lab(tmp_path / "cluster.json", file=None, drivers=OWN)
    assert "nic" in kind_in_all(lab.cluster)
    lab.load("sample:two-sockets")
    lab.load(tmp_path / "cluster.json")
    assert "nic" in kind_in_all(lab.cluster)
    lab.session.set_kind("npu.acme.io", "cpu")
    assert "cpu" in kind_in_all(lab.cluster)
    lab.close()


HOSTILE = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("driver: npu.acme.io\nkinds:\n  - {kind: nix}\n", "own.yaml:3, kinds[0].kind", "use one of gpu, nic"),
        ("driver: npu.acme.io\nkind: gpu\n", "own.yaml:2, kind", "unknown field"),
        ("title: x\n", "own.yaml:1", "missing the required field `driver`"),
        ("driver: NPU of Acme\n", "own.yaml:1, driver", "as in the ResourceSlices"),
        ("driver: a.b\ntopology: {rack: [a.b/x]}\n", "own.yaml:2, topology.rack", "is not a level"),
        ("driver: a.b\ntopology: {numaNode: [x]}\n", "own.yaml:2, topology.numaNode[0]", "write it like a.b/model"),
        ("driver: a.b\nlabels: [{text: '{x}'}]\n", "own.yaml:2, labels[0].text", "full attribute name"),
        ("driver: a.b\nclasses: [{name: c, selectors: ['device.']}]\n", "selectors[0]", "does not compile"),
        ("driver: a.b\nknown: false\n", "own.yaml:2, known", "remove it"),
        ("driver: a.b\n---\ndriver: a.b\n", "own.yaml:3", "keep one"),
        ("driver: [\n", "own.yaml", ""),
        ("- x\n", "own.yaml:1", "a mapping that begins with"),
        ("", "own.yaml", "empty"),
        (HOSTILE, "own.yaml", "values"),
        (f"driver: a.b\ntitle: {'x' * 300_000}\n", "own.yaml", "the limit is 262,144"),
    ],
)
def test_a_bad_profile_says_where_what_and_what_next(cluster_of, tmp_path, text, place, what):
    """It is refused as a whole, before the cluster is used."""
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(dra_lab.errors.InputError) as refused:
        cluster_of("npu.acme.io", drivers=tmp_path / "own.yaml")
    assert place in str(refused.value)
    assert what in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        ["check", "cluster.json", "cluster.json"],
        ["draw", "cluster.json", "--file", "o.html"],
        ["capture", "cluster.json", "o"],
        ["explain", "cluster.json", "--claim", "sample:two-sockets/lesson"],
        ["migrate", "cluster.json", "cluster.json", "--dir", "o"],
    ],
    ids=lambda words: words[0],
)
def test_commands_take_profiles(cluster_of, tmp_path, monkeypatch, capsys, command):
    """A bad one ends the command with its place."""
    cluster_of("npu.acme.io")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("driver: npu.acme.io\nkinds: [{kind: nix}]\n")
    assert main([*command, "--profiles", "own.yaml"]) == 2
    assert "own.yaml:2, kinds[0].kind: 'nix' is not a kind" in capsys.readouterr().err


def test_a_profile_decides_goals_on_the_command_line(cluster_of, tmp_path, monkeypatch, capsys):
    """A GPU beside a device that a profile calls a NIC is compared with it, and one beside a guessed GPU is not."""
    cluster_of("npu.acme.io")
    monkeypatch.chdir(tmp_path)
    requests = [
        {"name": name, "exactly": {"deviceClassName": class_name}}
        for name, class_name in (("a", "gpu.nvidia.com"), ("b", "npu.acme.io"))
    ]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": requests}},
    }
    (tmp_path / "claim.json").write_text(json.dumps(claim))
    (tmp_path / "own.yaml").write_text(json.dumps(OWN))

    def unpaired(*words: str) -> int:
        main(["plan", "cluster.json", "--claim", "claim.json", *words, "-o", "json"])
        answer = json.loads(capsys.readouterr().out)
        assert answer["outcome"] == "fits"
        return {goal["goal"]: goal["value"] for goal in answer["goals"]}.get("unpaired", 0)

    assert (unpaired(), unpaired("--profiles", "own.yaml")) == (0, 1)

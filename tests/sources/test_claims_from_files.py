"""Claims and drawings from files: what is taken, what is refused, and where it says so."""

from pathlib import Path

import pytest
from small_manifests import request, same, template

from dra_lab.errors import DraLabError, InputError, SourceError
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.sources.files import MAX_FILE_BYTES

TEMPLATE = template(
    "pair",
    request("gpu", "gpu.nvidia.com", "count: 2"),
    request("nic", "dranet"),
    constraints=[same("resource.kubernetes.io/pcieRoot", "gpu", "nic")],
)


def written(folder: Path, text: str) -> Path:
    """A file with the text."""
    path = folder / "claim.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_template_becomes_a_drawing(tmp_path):
    """Requests are taken over, a constraint becomes a link."""
    sketch = read_sketch(written(tmp_path, TEMPLATE))
    assert [request.name for request in sketch.requests] == ["gpu", "nic"]
    assert [link.requests for link in sketch.links] == [("gpu", "nic")]


def test_the_claim_is_found_among_other_documents(tmp_path):
    """A file of several manifests may be given as it is."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n"
    assert read_sketch(written(tmp_path, other + TEMPLATE)).name == "pair"


def test_an_unknown_field_of_a_persons_claim_is_an_error_with_its_line(tmp_path):
    """The reader does not silently drop what a person wrote."""
    with pytest.raises(InputError, match=r"claim\.yaml:9.*coutn"):
        read_sketch(written(tmp_path, TEMPLATE.replace("count: 2", "coutn: 2")))


def test_a_wrong_type_is_an_error_with_its_line_and_path(tmp_path):
    """The message names file, line and field."""
    with pytest.raises(InputError, match=r"claim\.yaml:9.*requests\[0\]\.exactly\.count"):
        read_sketch(written(tmp_path, TEMPLATE.replace("count: 2", "count: two")))


@pytest.mark.parametrize(
    "text",
    ["", "kind: Pod\napiVersion: v1\n", "{", TEMPLATE.replace("resource.k8s.io/v1", "resource.k8s.io/v9"), "- 1\n"],
    ids=["empty", "another kind", "broken", "unknown version", "a list"],
)
def test_a_file_without_a_usable_claim_says_so(tmp_path, text):
    """No claim is an error of ours that names the file."""
    with pytest.raises(DraLabError, match=r"claim\.yaml"):
        read_sketch(written(tmp_path, text))


def test_a_file_of_gigabytes_is_refused_before_it_is_read(tmp_path):
    """The limit is stated; nothing of the file is loaded."""
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(SourceError, match="the limit is"):
        load_cluster(path)


def test_a_binary_file_is_no_claim(tmp_path):
    """Bytes that are not text are reported with their place."""
    path = tmp_path / "claim.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="UTF-8"):
        read_sketch(path)


def test_a_drawing_that_is_not_there_is_reported_with_what_to_do(tmp_path):
    """The path alone does not say what can be given."""
    with pytest.raises(SourceError, match="sample:NAME/EXAMPLE"):
        read_sketch(tmp_path / "nowhere.yaml")

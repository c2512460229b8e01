"""The pictures of `dra-lab check --baseline` show the devices in use that its text counts."""

import pytest
from gitops.test_baseline import checked, manifest, repository

__all__ = ["repository"]


@pytest.mark.parametrize("now", [False, True])
def test_a_picture_shows_devices_in_use_only_if_they_count(repository, capsys, now):
    """Without --now nothing is in use, in the text and in the picture."""
    (repository / "train.yaml").write_text(manifest("train", 1), encoding="utf-8")
    text = checked(capsys, "-o", "markdown", "--dir", "summary", *(["--now"] if now else []))[1]
    picture = (repository.parent / "summary" / "Deployment-train-after.svg").read_text(encoding="utf-8")
    assert ("in use by" in picture, "nothing in use" in text) == (now, not now)

"""The extra files of an export: one table for the command line, the Export sheet and Python."""

from __future__ import annotations

import pytest

from dra_lab import KubernetesRelease, load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.exports.bundle import Wanted, make_bundle
from dra_lab.sketch.claim_objects import Target


def test_files_that_are_not_in_the_table_are_refused():
    """The message has the names that there are."""
    cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    with pytest.raises(InputError, match="no extra files 'picture'; use report"):
        make_bundle(sketch, cluster, Target(KubernetesRelease("1.36")), Wanted(extra=("picture",)))

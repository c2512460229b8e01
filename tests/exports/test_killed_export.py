"""An export that is killed leaves whole files, and the next one finishes it without calling a file changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from dra_lab.exports.written_files import RECORD, write_files

OLD = {"a.yaml": "a: 1\n" * 2000, "b.yaml": "b: 1\n", "gone.yaml": "gone\n"}
NEW = {"a.yaml": "a: 2\n" * 2000, "b.yaml": "b: 2\n", "c.yaml": "c: 2\n"}
THIRD = {"a.yaml": "a: 3\n", "b.yaml": "b: 3\n", "c.yaml": "c: 3\n"}
STEPS = 14
"""More than the renames, syncs and removals of one export: the last kill comes after its end."""

KILLED_AT = """
import json, os, signal, sys
from pathlib import Path
from dra_lab.exports import written_files

left = int(sys.argv[2])
# The process ends at the first call after these.


def counted(real):
    def call(*args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **kwargs)

    return call


os.fsync = counted(os.fsync)
Path.replace = counted(Path.replace)
Path.unlink = counted(Path.unlink)
written_files.write_files(Path(sys.argv[1]), json.loads(sys.argv[3]), {"name": "new"}, overwrite=True)
"""


def kill_at(folder, step):
    """Run an export in a process of its own that is killed before its step; return how it ended."""
    command = [sys.executable, "-c", KILLED_AT, str(folder), str(step), json.dumps(NEW)]
    return subprocess.run(command, env=os.environ, check=False).returncode


def visible(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process at a step")
def test_a_killed_export_leaves_whole_files_and_the_next_one_finishes_it(tmp_path):
    """At every step: each file is the old or the new one, the record can be read, and a third export goes through."""
    ended = []
    for step in range(STEPS):
        folder = tmp_path / str(step)
        write_files(folder, OLD, {"name": "old"})
        ended.append(kill_at(folder, step))
        found = visible(folder)
        assert json.loads(found.pop(RECORD))["name"] in ("old", "new")
        for name, text in found.items():
            assert text in (OLD.get(name), NEW.get(name)), (step, name)
        write_files(folder, THIRD, {"name": "third"}, overwrite=True)
        after = visible(folder)
        assert json.loads(after.pop(RECORD))["name"] == "third"
        assert after == THIRD
        assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]
    assert ended[0] == -signal.SIGKILL
    assert ended[-1] == 0

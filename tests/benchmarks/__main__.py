"""`make bench`: runs every benchmark, each in its own process, prints its medians and records them in RESULTS.md.

`python -m tests.benchmarks exports fleet` runs those named alone and records nothing.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# Measured speeds

Written by `make bench`; medians on {cores} cores, Python {python}. Read the figures beside their targets.

"""


def main() -> int:
    """Run the benchmarks in the order of their names; returns 1 when one of them failed, 2 when a name is not known."""
    wanted, failed = sys.argv[1:], False
    unknown = [name for name in wanted if not (HERE / f"bench_{name}.py").exists()]
    if unknown:
        print(f"there is no benchmark {', '.join(unknown)}", file=sys.stderr)
        return 2
    parts = [HEAD.format(cores=os.cpu_count(), python=platform.python_version())]
    for file in sorted(HERE.glob("bench_*.py")):
        if wanted and file.stem.removeprefix("bench_") not in wanted:
            continue
        print(f"\n-- {file.stem}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{file.stem}"]
        done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr if done.returncode else "", flush=True)
        failed = failed or done.returncode != 0
        parts.append(f"## {file.stem.removeprefix('bench_')}\n\n```\n{done.stdout.strip()}\n```\n\n")
    if not failed and not wanted:
        (HERE / "RESULTS.md").write_text("".join(parts).rstrip() + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

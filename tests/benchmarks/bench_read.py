"""Reading 5,000 nodes, 15,000 slices and 90,000 devices from JSON; target 1.5 s and 600 MB."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.sources import load_texts
from tests.benchmarks.big_cluster import documents
from tests.benchmarks.timing import median_seconds, seconds


def import_seconds() -> float:
    """Median time of `import dra_lab` in a fresh interpreter, less that of an empty one."""

    def run(code: str) -> float:
        return median_seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return run("import dra_lab") - run("pass")


_CHILD = """
import resource, sys
from dra_lab.sources import load_cluster
cluster = load_cluster(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_megabytes(text: str) -> int:
    """Peak resident memory, in MB, of a fresh process that reads the cluster from a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([sys.executable, "-c", _CHILD, file.name], check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    """Print the medians beside their targets."""
    text = documents(5000)
    read = median_seconds(lambda: load_texts({"big.json": text}))
    cluster = load_texts({"big.json": text})
    devices = sum(len(s.spec.devices or ()) for s in cluster.slices)
    size = len(text) >> 20
    print(f"read 5,000 nodes, {len(cluster.slices):,} slices, {devices:,} devices from {size} MB of JSON: {read:.2f} s")
    print("  target 1.5 s")
    print(f"  peak memory of a process that reads it: {peak_megabytes(text)} MB   (target 600 MB)")
    print(f"check_cluster on it: {seconds(lambda: check_cluster(cluster)):.2f} s   (no target)")
    print(f"import dra_lab: {import_seconds():.3f} s   (target 0.3 s)")


if __name__ == "__main__":
    main()

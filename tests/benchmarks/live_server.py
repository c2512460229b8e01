"""A large cluster, served in a process: `python -m tests.benchmarks.live_server FOLDER NODES [changing]`.

Prints a line when FOLDER holds `test.kubeconfig`. With `changing`, each line of its input says how many changes a
second it makes until the next line, and of which sorts, one after the other: `20 claim claim label`, `0` for none.
Each change is noted in FOLDER/changes: resource version, time (seconds since the epoch), sort. Ends with its input.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from queue import Empty, Queue
from typing import Any, TextIO

from tests.api_server.kubeconfig import write_kubeconfig
from tests.api_server.server import ApiServer
from tests.api_server.store import KINDS, PLURALS, Store
from tests.benchmarks.big_cluster import documents

CLAIMS_PER_NODE = 4


def managed(kind: str) -> list[dict[str, Any]]:
    """Return managedFields as a driver's writes leave them."""
    fields = {
        "f:spec": {"f:devices": {}, "f:driver": {}, "f:nodeName": {}, "f:pool": {"f:generation": {}, "f:name": {}}}
    }
    entry = {"manager": "driver", "operation": "Update", "time": "2026-11-20T21:08:32Z", "fieldsType": "FieldsV1"}
    return [{**entry, "apiVersion": KINDS[PLURALS[kind]][1], "fieldsV1": fields}]


def big_store(nodes: int) -> Store:
    """Return a store with three slices and four claims and pods a node."""
    store = Store()
    for item in json.loads(documents(nodes))["items"]:
        put(store, item)
    held = len(store.objects["resourceclaims"])
    for number in range(held, CLAIMS_PER_NODE * nodes):
        put(store, pending(f"pending-{number}"))
    for number in range(CLAIMS_PER_NODE * nodes):
        put(store, pod(number))
    return store


def put(store: Store, item: dict[str, Any]) -> None:
    """Store an object with the metadata that a server adds."""
    meta = {"uid": f"{store.version:032x}", "creationTimestamp": "2026-11-20T21:08:32Z", **item["metadata"]}
    store.put({**item, "metadata": {**meta, "managedFields": managed(item["kind"])}})
    store.history.clear()


def pending(name: str) -> dict[str, Any]:
    """Return a claim that holds nothing."""
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1},
    }
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": f"team-{len(name) % 2}"},
        "spec": {"devices": {"requests": [request]}},
        "status": {},
    }


def pod(number: int) -> dict[str, Any]:
    """Return a pod that uses a claim, with the usual ballast."""
    env = [{"name": f"VARIABLE_{index}", "value": "x" * 40} for index in range(12)]
    mounts = [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}]
    container = {"name": "c", "image": "registry.example/app:1", "env": env, "volumeMounts": mounts}
    claims = [{"name": "gpu", "resourceClaimName": f"pending-{number}"}]
    conditions = [
        {"type": name, "status": "True"} for name in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": f"team-{number % 2}"},
        "spec": {"containers": [container], "resourceClaims": claims, "nodeName": f"node-{number // 4:05d}"},
        "status": {"phase": "Running", "conditions": conditions},
    }


class Churn:
    """Claims that come to hold a free GPU and let it go again; about half of the pending ones hold one all the time.

    It also publishes slices again with another generation and attribute, and gives nodes another label.
    """

    def __init__(self, store: Store, nodes: int) -> None:
        """Let half of the claims hold a GPU now."""
        self._store, self._chance = store, random.Random(1)
        busy = {
            (result["pool"], result["device"])
            for item in map(json.loads, store.objects["resourceclaims"].values())
            for result in item["status"].get("allocation", {}).get("devices", {}).get("results", ())
        }
        names = [(f"node-{node:05d}", f"gpu-{gpu}") for node in range(nodes) for gpu in range(8)]
        self._free = [name for name in names if name not in busy]
        self._held: dict[str, tuple[str, str]] = {}
        self.sorts: dict[str, Callable[[], None]] = {
            "claim": self.step,
            "label": self.label,
            "slice": self.publish,
            "same": self.publish_same,
        }
        self._claims = [name for _, name in store.objects["resourceclaims"] if name.startswith("pending-")]
        for _ in range(2 * len(self._claims)):
            self.step()

    def publish(self) -> None:
        """Publish a slice again, with a value of the driver's that it did not contain before."""
        item = self._slice()
        item["spec"]["devices"][0]["attributes"]["temperature"] = {"int": self._chance.randrange(100)}
        self._store.put(item)
        del self._store.history[:-2000]

    def publish_same(self) -> None:
        """Publish a slice again with the same devices, in another generation of its pool."""
        self._store.put(self._slice())
        del self._store.history[:-2000]

    def _slice(self) -> dict[str, Any]:
        key = self._chance.choice(tuple(self._store.objects["resourceslices"]))
        item = {"kind": "ResourceSlice", **json.loads(self._store.objects["resourceslices"][key])}
        item["spec"]["pool"]["generation"] += 1
        return item

    def label(self) -> None:
        """Give a node a label that it did not have."""
        key = self._chance.choice(tuple(self._store.objects["nodes"]))
        item = {"kind": "Node", **json.loads(self._store.objects["nodes"][key])}
        item["metadata"].setdefault("labels", {})["example.com/checked"] = str(self._store.version)
        self._store.put(item)
        del self._store.history[:-2000]

    def step(self) -> None:
        """Let one claim take or leave a GPU."""
        name = self._chance.choice(self._claims)
        item = pending(name)
        if name in self._held:
            self._free.append(self._held.pop(name))
        else:
            at = self._chance.randrange(len(self._free))
            self._free[at], self._free[-1] = self._free[-1], self._free[at]
            node, gpu = self._held[name] = self._free.pop()
            result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": gpu}
            item["status"] = {"allocation": {"devices": {"results": [result]}}}
        put = {**item, "metadata": {**item["metadata"], "managedFields": managed("ResourceClaim")}}
        self._store.put(put)
        del self._store.history[:-2000]


def _churn(churn: Churn | None, store: Store, changes: TextIO, lines: Queue[str]) -> None:
    """Make the changes that the lines ask for, until an empty one."""
    rate, sorts = 0.0, cycle(("claim",))
    while True:
        try:
            line = lines.get(timeout=1 / rate if rate else None)
        except Empty:
            assert churn is not None
            sort = next(sorts)
            churn.sorts[sort]()
            changes.write(f"{store.version} {time.time():.3f} {sort}\n")
            continue
        if not line:
            break
        rate, sorts = float(line.split()[0]), cycle(line.split()[1:])


def main() -> None:
    """Serve until standard input ends."""
    folder, nodes = Path(sys.argv[1]), int(sys.argv[2])
    store, lines = big_store(nodes), Queue[str]()
    churn = Churn(store, nodes) if "changing" in sys.argv else None
    with ApiServer(store) as server:
        write_kubeconfig(folder, server)
        print("ready", flush=True)
        threading.Thread(target=lambda: [*map(lines.put, sys.stdin), lines.put("")], daemon=True).start()
        with (folder / "changes").open("w", buffering=1) as changes:
            _churn(churn, store, changes, lines)


@contextmanager
def serving(folder: Path, nodes: int, *, changing: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run the server in another process while the block runs."""
    command = [sys.executable, "-m", "tests.benchmarks.live_server", str(folder), str(nodes)]
    command += ["changing"] if changing else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)


def make_changes(server: subprocess.Popen[str], rate: float, sorts: Sequence[str]) -> None:
    """Let the server make this many changes a second of these sorts from now on; 0 for none."""
    assert server.stdin is not None
    server.stdin.write(" ".join([f"{rate:g}", *sorts]) + "\n")
    server.stdin.flush()


if __name__ == "__main__":
    main()

"""Two Jobs that measure what a link is worth: the same test with the drawn links, and with counts and selectors only.

The projects document these commands and images. `all_reduce_perf` of NVIDIA/nccl-tests is part of NVIDIA's PyTorch
image. `ib_write_bw` of linux-rdma/perftest is in the image of the kubernetes-sigs/dranet examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.exports.manifests import manifest_files
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.sketch.claim_objects import Target, labels, node_affinity, pod_claims
from dra_lab.sketch.object_names import object_name
from dra_lab.topology.locality import localities
from dra_lab.words.document import marked_up

NCCL_IMAGE = "nvcr.io/nvidia/pytorch:25.08-py3"
PERFTEST_IMAGE = "registry.k8s.io/networking/dranet-rdma-perftest:sha-fb3f932"
_HOSTNAME = "kubernetes.io/hostname"
_WAIT = 15
"""Seconds that the client of `ib_write_bw` leaves its server to start."""


def measure_files(cluster: Cluster, plan: Plan, target: Target) -> Mapping[str, str]:
    """Return the files of both Jobs, their claims and a README that says how to read the numbers.

    NICs are measured with `ib_write_bw` between two nodes that fit, GPUs alone with `all_reduce_perf` on the plan's
    node. Raises InputError if the plan has no link, or nothing that these tests measure.
    """
    sketch = plan.sketch
    if not plan.fits or not sketch.links:
        raise InputError("there is no link to measure; draw one, and wait for a plan that fits")
    places = localities(cluster, plan.node)
    kinds = [places[placement.device].kind for placement in plan.placements]
    gpus, nics = kinds.count("gpu"), kinds.count("nic")
    if not nics and gpus < 2:
        raise InputError("there is nothing to measure; the claim needs a NIC or two GPUs")
    if nics and len(plan.fitting_nodes) < 2:
        raise InputError("ib_write_bw needs two nodes, but this claim fits on one")
    target = replace(target, kind="template")
    texts: dict[str, str] = {}
    for suffix, drawn in (("with-link", sketch), ("without-link", replace(sketch, links=()))):
        made = manifest_files(drawn, cluster, target, example_kind="none", name=f"{sketch.name[:48]}-{suffix}")
        texts |= {name: text for name, text in made.texts.items() if name not in made.claim_files}
        texts[f"claim-{suffix}.yaml"] = "---\n".join(made.texts[file] for file in made.claim_files)
        name = object_name(f"{sketch.name[:48]}-{suffix}")
        spec = _perftest(name, plan.fitting_nodes, gpus) if nics else _nccl(plan.node, gpus)
        pod = spec["template"]["spec"]
        pod["resourceClaims"] = entries = pod_claims(made.claims, sketch.claims)
        pod["containers"][0]["resources"] = {"claims": [{"name": entry["name"]} for entry in entries]}
        metadata: dict[str, Any] = {"name": name, "labels": labels(name, "measure")}
        if target.namespace:
            metadata["namespace"] = target.namespace
        job = dump_yaml({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
        if nics:
            selector = {"batch.kubernetes.io/job-name": name}
            service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
            head = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
            job = f"{dump_yaml({**head, 'spec': service})}---\n{job}"
        texts[f"job-{suffix}.yaml"] = job
    own = name.removesuffix("-without-link")
    texts["README.md"] = _readme(own, list(texts), nics=bool(nics), target=target)
    return texts


def _nccl(node: str, gpus: int) -> dict[str, Any]:
    command = f"mpirun --allow-run-as-root -np 1 all_reduce_perf_mpi -b 8 -e 8G -f 2 -g {gpus}"
    pod = {
        "restartPolicy": "Never",
        "affinity": node_affinity(({"key": _HOSTNAME, "operator": "In", "values": [node]},)),
        "containers": [_container("nccl-tests", NCCL_IMAGE, command)],
    }
    return {"backoffLimit": 0, "template": {"spec": pod}}


def _perftest(name: str, nodes: tuple[str, ...], gpus: int) -> dict[str, Any]:
    test = f"ib_write_bw -a -F --report_gbits{' --use_cuda=0' if gpus else ''}"
    client = f"sleep {_WAIT}; {test} {name}-0.{name}"
    command = f'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then {test}; else {client}; fi'
    container = _container("perftest", PERFTEST_IMAGE, command)
    container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    selector = {"matchLabels": {"batch.kubernetes.io/job-name": name}}
    apart = {"labelSelector": selector, "topologyKey": _HOSTNAME}
    affinity = node_affinity(({"key": _HOSTNAME, "operator": "In", "values": list(nodes)},))
    pod = {
        "restartPolicy": "Never",
        "subdomain": name,
        "affinity": {**affinity, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "containers": [container],
    }
    return {
        "completions": 2,
        "parallelism": 2,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": pod},
    }


def _container(name: str, image: str, command: str) -> dict[str, Any]:
    return {"name": name, "image": image, "command": ["sh", "-c", command]}


def _readme(name: str, files: list[str], *, nics: bool, target: Target) -> str:
    namespace = f" -n {target.namespace}" if target.namespace else ""
    classes = [file for file in files if file.startswith("deviceclass-")]
    test, column = ("ib_write_bw", "BW average[Gb/sec]") if nics else ("all_reduce_perf", "busbw (GB/s)")
    lines = [f"# What the link of {marked_up(name)} is worth", ""]
    lines += [f"Both Jobs run {test} with the same number of devices. Run one after the other, on idle nodes:", ""]
    lines += [f"    kubectl apply{namespace} -f {file}" for file in classes]
    for suffix in ("with-link", "without-link"):
        job = f"job-{suffix}.yaml"
        lines += [
            f"    kubectl apply{namespace} -f claim-{suffix}.yaml -f {job}",
            f"    kubectl wait{namespace} -f {job} --for=condition=complete --timeout=10m",
            f"    kubectl logs{namespace} job/{name}-{suffix} --all-pods",
            f"    kubectl delete{namespace} -f {job} -f claim-{suffix}.yaml",
        ]
    lines += ["", f"Read the column `{column}` in the row of the largest size. Repeat both Jobs three times."]
    if nics:
        lines += [
            "The two pods print the same numbers. The test uses the first GPU and the first RDMA device of a pod.",
            "Choose another pair with `--use_cuda` and `-d`. Without GPUDirect RDMA, leave out `--use_cuda`.",
        ]
    lines += [
        "Without the link, kube-scheduler may by chance allocate devices that are close together. Look at the",
        f"devices with `kubectl get resourceclaims{namespace} -o yaml` while the Job runs.",
        "",
        "Give both numbers to dra-lab, and they replace its published range in every sentence:",
        "",
        "    dra-lab plan CLUSTER --claim FILE --measured WITH:WITHOUT",
        "    lab.measured(WITH, WITHOUT)",
    ]
    return "\n".join(lines) + "\n"

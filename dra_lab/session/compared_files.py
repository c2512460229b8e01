"""Plans in files, as kept plans: the JSON of `dra-lab plan`, the folder of an export, a plan file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import InputError, SourceError, did_you_mean
from dra_lab.exports.written_files import RECORD
from dra_lab.manifests.file_text import expanded, read_bytes, utf8_text
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.decoding import from_builtins, json_value
from dra_lab.model.sketch import ClaimSketch, Kept, pod_drawing
from dra_lab.model.workload import workload_of
from dra_lab.session.drawings import PLAN_FILE, fleet_cluster, read_plan_file
from dra_lab.sources.files import is_live
from dra_lab.words.comparison import GANGS
from dra_lab.words.plan_json import is_gang, values_of_plan

_SECONDS = 60.0
"""Seconds for the plan of the gangs of a plan file, as `dra-lab plan` has them."""

MAX_FILE_BYTES = 64 * 2**20
_CLAIMS = ("resourceclaimtemplate*.yaml", "resourceclaim-*.yaml", "resourceclaim.yaml")


def read_kept(source: str, drivers: Sequence[str] | None = None) -> Kept:
    """Return the plan of a file as a kept plan; a drawing is planned with the profiles of `drivers`.

    `source` is the JSON that `dra-lab plan` printed, a folder of `dra-lab export` or its `plan.json`, a plan file,
    whose drawing is planned on its cluster, or `FILE#NAME`, a kept plan of a plan file. Raises SourceError if it cannot
    be read, InputError if it has no plan, and what planning raises.
    """
    file, mark, name = source.partition("#")
    if file.endswith(PLAN_FILE):
        return _kept_in(file, name) if mark else _planned(file, drivers)
    path = expanded(Path(source))
    path = path / RECORD if path.is_dir() else path
    value = _json(path)
    plan = value.get("plan", value)
    if not isinstance(plan, Mapping) or plan.get("kind") not in ("Plan", "GangPlan"):
        kind = str(value.get("kind") or "no kind")
        ways = "give the JSON of dra-lab plan, the folder of an export, or a plan file"
        raise InputError(f"{source!r} has no plan ({kind}); {ways}")
    try:
        return _kept(path.parent.name if path.name == RECORD else path.stem, of_today(plan), _manifest(path))
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
        raise InputError(f"{source!r} is not a plan that this dra_lab can compare: {error!r}") from None


def _json(path: Path) -> Mapping[str, Any]:
    text = utf8_text(read_bytes(path, MAX_FILE_BYTES), str(path))
    try:
        value = json_value(text)
    except ValueError as error:
        raise SourceError(f"{str(path)!r} is not JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise InputError(f"{str(path)!r} contains a list or a single value, not a plan")
    return value


def _kept(name: str, plan: Mapping[str, Any], manifest: str) -> Kept:
    """Return the JSON of a plan as a kept plan."""
    pods = [pod for page in plan["pods"]["pages"] for pod in page]
    common: dict[str, Any] = {
        "name": name,
        "cluster": str(plan["cluster"]),
        "release": str(plan["release"]),
        "figures": values_of_plan(plan),
    }
    workloads = plan["workloads"]
    if [(one["replicas"], is_gang(one)) for one in workloads] == [(1, False)]:
        sketch = pod_drawing(workloads[0]["name"], from_builtins(workloads[0]["pods"][0]["claims"], list[ClaimSketch]))
        yaml = manifest or dump_yaml(msgspec.to_builtins(sketch))
        devices = {_id(one): str(one["request"]) for one in plan["devices"]}
        return Kept(mode="plan", node=str(plan["node"]), sketch=sketch, yaml=yaml, devices=devices, **common)
    replicas: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for pod in pods:
        replicas.setdefault((pod["workload"], pod["replica"]), []).append(pod)
    domains = []
    for (workload, replica), found in replicas.items():
        if domain := "/".join(map(str, found[0].get("domain", []))):
            domains.append(domain if len(replicas) == 1 else f"{workload} {replica}: {domain} ({len(found)})")
    devices = {}
    for pod in (*pods, *plan["shared"]):
        group = pod.get("group", "")
        name = f"{group}/{pod.get('number', 0)}" if group else f"{pod['workload']}/{pod['replica']}"
        devices |= {_id(one): name for one in pod["devices"]}
    return Kept(mode=GANGS, node=", ".join(domains), yaml=manifest, devices=devices, **common)


def _id(device: Mapping[str, Any]) -> str:
    return f"{device['driver']}/{device['pool']}/{device['device']}"


def _manifest(record: Path) -> str:
    """Return the claims beside the record of an export, "" elsewhere."""
    paths = (path for name in _CLAIMS for path in sorted(record.parent.glob(name))) if record.name == RECORD else ()
    return "---\n".join(utf8_text(read_bytes(path, MAX_FILE_BYTES), str(path)) for path in paths)


def _kept_in(file: str, name: str) -> Kept:
    drawing = read_plan_file(file)
    kept = drawing.kept if drawing is not None else ()
    names = [one.name for one in kept]
    if name not in names:
        raise InputError(f"{file!r} has no kept plan {name!r}{did_you_mean(name, names)}")
    return kept[names.index(name)]


def _planned(file: str, drivers: Sequence[str] | None) -> Kept:
    from dra_lab.planner.plan_workloads import plan_workloads
    from dra_lab.session.session import Session
    from dra_lab.words.plan_json import plan_json

    drawing = read_plan_file(file)
    if drawing is None or not drawing.cluster:
        raise InputError(f"{file!r} names no cluster, so dra-lab cannot plan its drawing; plan it and give the JSON")
    if is_live(drawing.cluster):
        how = f"dra-lab plan {drawing.cluster} --claim {file} -o json"
        raise InputError(f"{file!r} names the running cluster {drawing.cluster}; give the JSON of: {how}")
    session, name = Session(drawing.cluster, sketch=drawing.sketch, drivers=drivers, drawn=False), Path(file).name
    name = name.removesuffix(PLAN_FILE)
    try:
        session.open(drawing, whole=True)
        if any(pod.gang for pod in drawing.workloads):
            on, workloads = fleet_cluster(session.cluster, drawing.workloads), [*map(workload_of, drawing.workloads)]
            plan = plan_workloads(on, workloads, release=drawing.release or None, time_limit=_SECONDS)
            return replace(_kept(name, plan_json(plan), ""), cluster=drawing.cluster, layers=drawing.layers)
        session.comparing.keep(session.plan(), name)
        session.comparing.wait()
        return session.comparing.kept(name)
    finally:
        session.close()


def of_today(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON of a plan in the form of today. Raises KeyError or TypeError for what is no plan."""
    if plan.get("apiVersion") != "dra-lab/v1":
        return plan
    workloads, pods, shared = [], [], []
    if plan["kind"] == "GangPlan":
        own = ("name", "replicas", "placed", "level", "preferLevel", "priority", "sharedClaims")
        workloads = [
            {**{name: gang[name] for name in own}, "pods": [{"count": group["pods"]} for group in gang["groups"]]}
            for gang in plan["gangs"]
        ]
        none = {"level": "", "preferLevel": "", "priority": 0, "sharedClaims": []}
        placed = Counter(one["workload"] for one in plan["replicas"])
        workloads += [
            {
                "name": one["name"],
                "replicas": one["replicas"],
                "placed": placed[one["name"]],
                "pods": [{"count": 1}],
                **none,
            }
            for one in plan["workloads"]
        ]
        pods = [*_pods_of_gangs(plan), *(_pod(one, one["workload"], one["number"]) for one in plan["replicas"])]
        shared = [*_shared(plan)]
    if plan["kind"] == "Plan":
        pod = {"name": plan["sketch"]["name"], "count": 1, "claims": [plan["sketch"]]}
        workloads = [{"name": plan["sketch"]["name"], "replicas": 1, "placed": int(bool(plan["node"])), "pods": [pod]}]
    wanted = sum(one["replicas"] * sum(group["count"] for group in one["pods"]) for one in workloads) or 1
    summary = {"pods": wanted, "podsPlaced": len(pods) or int(bool(plan.get("node")))}
    common: dict[str, Any] = {
        "node": "",
        "devices": [],
        "sketch": None,
        "regrets": [],
        "nodes": {"fitting": [], "classes": []},
    }
    today = {"summary": summary, "workloads": workloads, "pods": {"pages": [pods]}, "shared": shared}
    return {**common, **plan, **today}


def _pods_of_gangs(plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in plan["placed"]:
        for pod in one["pods"]:
            more = {"group": pod["workload"], "number": pod["number"], "domain": one["domain"]}
            yield _pod(pod, one["gang"], one["number"]) | more


def _pod(pod: Mapping[str, Any], workload: str, replica: int) -> dict[str, Any]:
    where = {"node": pod["node"], "devices": pod["devices"], "domain": []}
    return {"workload": workload, "replica": replica, "group": "", "number": 0, **where}


def _shared(plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in plan["placed"]:
        for claim in (one.get("shared"), *one.get("groupShared", ())):
            if claim:
                group = "" if claim["workload"] == "shared" else claim["workload"]
                yield {"workload": one["gang"], "replica": one["number"], "group": group, "devices": claim["devices"]}

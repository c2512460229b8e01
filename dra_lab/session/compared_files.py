"""Plans in files, as kept plans: the JSON of `dra-lab plan`, the folder of an export, a plan file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import InputError, SourceError, did_you_mean
from dra_lab.exports.written_files import RECORD
from dra_lab.manifests.file_text import expanded, read_bytes, utf8_text
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins, json_value
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, Drawing, Kept
from dra_lab.model.workload import workload_of
from dra_lab.session.drawings import PLAN_FILE, read_plan_file
from dra_lab.session.fleet_files import fleet_cluster
from dra_lab.sources.confined import is_live
from dra_lab.words.comparison import GANGS
from dra_lab.words.kept_values import values_of_gang, values_of_plan

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
        return _of_plan_file(file, name) if mark else _planned(file, drivers)
    path = expanded(Path(source))
    path = path / RECORD if path.is_dir() else path
    value = _json(path)
    plan = value.get("plan", value)
    read = _KINDS.get(str(plan.get("kind"))) if isinstance(plan, Mapping) else None
    if read is None:
        kind = str(value.get("kind") or "no kind")
        ways = "give the JSON of dra-lab plan, the folder of an export, or a plan file"
        raise InputError(f"{source!r} has no plan of one claim or of gangs ({kind}); {ways}")
    try:
        return read(path.parent.name if path.name == RECORD else path.stem, plan, _manifest(path))
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
    sketch = from_builtins(plan["sketch"], ClaimSketch)
    return Kept(
        name=name,
        mode="plan",
        cluster=str(plan["cluster"]),
        release=str(plan["release"]),
        node=str(plan["node"]),
        sketch=sketch,
        figures=values_of_plan(plan),
        yaml=manifest or dump_yaml(msgspec.to_builtins(sketch)),
        devices={f"{p['driver']}/{p['pool']}/{p['device']}": str(p["request"]) for p in plan["devices"]},
    )


def _kept_gangs(name: str, plan: Mapping[str, Any], manifest: str) -> Kept:
    """Return a plan of gangs as a kept plan."""
    placed = plan["placed"]
    pods = [pod for one in placed for pod in (*one["pods"], *one.get("groupShared", ()))] + plan["replicas"]
    pods += [one["shared"] for one in placed if one.get("shared")]
    domains = [_domain(one, len(placed)) for one in placed if one["domain"]]
    return Kept(
        name=name,
        mode=GANGS,
        cluster=str(plan["cluster"]),
        release=str(plan["release"]),
        node=", ".join(domains),
        figures=values_of_gang(plan),
        yaml=manifest,
        devices={
            f"{one['driver']}/{one['pool']}/{one['device']}": f"{pod['workload']}/{pod['number']}"
            for pod in pods
            for one in pod["devices"]
        },
    )


def _domain(placed: Mapping[str, Any], gangs: int) -> str:
    """Return the domain of a gang, of several with the name and the number of pods of each."""
    domain = "/".join(map(str, placed["domain"]))
    return domain if gangs == 1 else f"{placed['gang']} {placed['number']}: {domain} ({len(placed['pods'])})"


_KINDS: Mapping[str, Callable[[str, Mapping[str, Any], str], Kept]] = {"Plan": _kept, "GangPlan": _kept_gangs}


def _manifest(record: Path) -> str:
    """Return the claims beside the record of an export, "" elsewhere."""
    paths = (path for name in _CLAIMS for path in sorted(record.parent.glob(name))) if record.name == RECORD else ()
    return "---\n".join(utf8_text(read_bytes(path, MAX_FILE_BYTES), str(path)) for path in paths)


def _of_plan_file(file: str, name: str) -> Kept:
    drawing = read_plan_file(file)
    kept = drawing.kept if drawing is not None else ()
    names = [one.name for one in kept]
    if name not in names:
        raise InputError(f"{file!r} has no kept plan {name!r}{did_you_mean(name, names)}")
    return kept[names.index(name)]


def _plan_of_gangs(cluster: Cluster, drawing: Drawing) -> Plan:
    """Return the plan of the gangs and the other workloads of a plan file."""
    from dra_lab.planner.questions import plan_workloads

    on = fleet_cluster(cluster, drawing.workloads)
    return plan_workloads(
        on, [*map(workload_of, drawing.workloads)], release=drawing.release or None, time_limit=_SECONDS
    )


def _planned(file: str, drivers: Sequence[str] | None) -> Kept:
    from dra_lab.session.session import Session
    from dra_lab.words.gang_json import gang_json

    drawing = read_plan_file(file)
    if drawing is None or not drawing.cluster:
        raise InputError(f"{file!r} names no cluster, so dra-lab cannot plan its drawing; plan it and give the JSON")
    if is_live(drawing.cluster):
        how = f"dra-lab plan {drawing.cluster} --claim {file} -o json"
        raise InputError(f"{file!r} names the running cluster {drawing.cluster}; give the JSON of: {how}")
    session = Session(drawing.cluster, sketch=drawing.sketch, drivers=drivers, drawn=False)
    try:
        session.open(drawing, whole=True)
        if any(pod.gang for pod in drawing.workloads):
            plan = gang_json(_plan_of_gangs(session.cluster, drawing))
            kept = _kept_gangs(Path(file).name.removesuffix(PLAN_FILE), plan, "")
            return replace(kept, cluster=drawing.cluster, layers=drawing.layers)
        name = session.comparing.keep(session.plan(), Path(file).name.removesuffix(PLAN_FILE))
        session.comparing.wait()
        return session.comparing.kept(name)
    finally:
        session.close()

"""The JSON of plans as `dra-lab/v1` had it, in the form of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def of_today(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON of a plan in the form of today. Raises KeyError or TypeError for what is no plan."""
    if plan.get("apiVersion") != "dra-lab/v1":
        return plan
    workloads, pods, shared = [], [], []
    if plan["kind"] == "GangPlan":
        workloads = [*map(_workload, plan["gangs"]), *(_single(one, plan["replicas"]) for one in plan["workloads"])]
        pods = [*_pods_of_gangs(plan), *(_pod(one, one["workload"], one["number"]) for one in plan["replicas"])]
        shared = [*_shared(plan)]
    if plan["kind"] == "Plan":
        pod = {"name": plan["sketch"]["name"], "count": 1, "claims": [plan["sketch"]]}
        workloads = [{"name": plan["sketch"]["name"], "replicas": 1, "placed": int(bool(plan["node"])), "pods": [pod]}]
    wanted = sum(one["replicas"] * sum(group["count"] for group in one["pods"]) for one in workloads) or 1
    placed = len(pods) or int(bool(plan.get("node")))
    summary = {"pods": wanted, "podsPlaced": placed}
    common: dict[str, Any] = {
        "node": "",
        "devices": [],
        "sketch": None,
        "regrets": [],
        "nodes": {"fitting": [], "classes": []},
    }
    today = {"summary": summary, "workloads": workloads, "pods": {"pages": [pods]}, "shared": shared}
    return {**common, **plan, **today}


def _workload(gang: Mapping[str, Any]) -> dict[str, Any]:
    own = ("name", "replicas", "placed", "level", "preferLevel", "priority", "sharedClaims")
    return {**{name: gang[name] for name in own}, "pods": [{"count": group["pods"]} for group in gang["groups"]]}


def _single(workload: Mapping[str, Any], placed: list[Mapping[str, Any]]) -> dict[str, Any]:
    found = sum(pod["workload"] == workload["name"] for pod in placed)
    none = {"level": "", "preferLevel": "", "priority": 0, "sharedClaims": []}
    return {"name": workload["name"], "replicas": workload["replicas"], "placed": found, "pods": [{"count": 1}], **none}


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

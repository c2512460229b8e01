"""Charts: every node and device is in them, they stay small, names are data, and they print as tables."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys

import altair as alt
import pytest
from benchmarks.big_cluster import big_cluster
from checked_plans import checked_plan
from code_of import code_of
from msgspec.structs import replace

import dra_lab
from dra_lab import (
    ClaimSketch,
    Cluster,
    DeviceID,
    KubernetesRelease,
    Plan,
    Workload,
    chart,
    load_cluster,
    read_sketch,
    samples,
    with_more_nodes,
)
from dra_lab.errors import InputError
from dra_lab.model.goals import GoalValue
from dra_lab.model.headroom import Bounded, Fit, Headroom, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.placement import PlacedPod, Placement
from dra_lab.model.plan import PlanStatus
from dra_lab.model.workload import Question
from dra_lab.pictures.charts.amounts import node_amounts
from dra_lab.pictures.charts.look import VEGALITE
from dra_lab.pictures.charts.node_charts import MOST_ROWS, of_nodes
from dra_lab.planner.scenarios import ScenarioAnswer

HOSTILE = "<img src=x>\u202e datum['x']"
LARGEST = 500_000


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load_cluster("sample:eks-p4d")


@pytest.fixture(scope="module")
def plan(cluster):
    return checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"), release=KubernetesRelease("1.36"))


def rows_of(chart) -> list[dict]:
    return [row for rows, _ in lists_below(chart.to_dict(), "values") for row in rows]


def lists_below(part, wanted: str, path: tuple[str, ...] = ()):
    """Yield (value, path) of every member of a chart with a name."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == wanted:
                yield value, path
            else:
                yield from lists_below(value, wanted, (*path, key))
    if isinstance(part, list):
        for value in part:
            yield from lists_below(value, wanted, path)


def strings(part, path: tuple[str, ...] = ()):
    """Yield (text, path) of every text in a chart."""
    if isinstance(part, str):
        yield part, path
    for key, value in part.items() if isinstance(part, dict) else ():
        yield from strings(value, (*path, key))
    for value in part if isinstance(part, list) else ():
        yield from strings(value, path)


def fleet_of(*placements: Placement) -> Plan:
    """Return a fleet plan with one replica, on the node whose pool its first device is in."""
    replica = PlacedPod("w", 0, placements[0].device.pool, tuple(placements))
    return Plan(PlanStatus.FEASIBLE, Question((Workload("w", (ClaimSketch(),)),)), pods=(replica,))


@pytest.mark.parametrize("sample", [sample.name for sample in samples()])
def test_the_amounts_of_a_node_add_up_to_its_devices(sample):
    made = load_cluster(f"sample:{sample}")
    for amount in node_amounts(made):
        assert min(amount.values) >= 0
        assert sum(amount.values) == pytest.approx(amount.total)


def test_what_is_in_use_planned_and_tainted_is_counted(cluster):
    """The example's numbers, counted by hand from its claims: 3 GPUs in use, one of the free ones planned."""
    node = cluster.node_names[0]
    planned = fleet_of(Placement("gpu", DeviceID("gpu.nvidia.com", node, "gpu-3")))
    gpus = next(a for a in node_amounts(cluster, planned) if (a.node, a.kind) == (node, "gpu"))
    assert (gpus.in_use, gpus.planned, gpus.free) == (3, 1, 4)


def test_cpus_of_one_device_are_counted_in_cpus():
    """A device that stands for 64 CPUs of which a plan takes 16 is 16 planned and 48 free."""
    made = load_cluster("sample:dgx-h100")
    device = next(
        DeviceID(s.spec.driver, s.spec.pool.name, d.name)
        for s in made.slices
        for d in s.spec.devices or ()
        if d.allow_multiple_allocations and "dra.cpu/cpu" in d.capacity
    )
    before = {(a.node, a.kind): a for a in node_amounts(made)}
    after = {
        (a.node, a.kind): a
        for a in node_amounts(made, fleet_of(Placement("cpu", device, consumed={"dra.cpu/cpu": "16"})))
    }
    changed = [key for key in before if before[key] != after[key]]
    assert [kind for _, kind in changed] == ["cpu"]
    assert after[changed[0]].planned == 16
    assert before[changed[0]].free - after[changed[0]].free == 16


def test_stranded_is_a_part_of_what_is_free(cluster):
    node = cluster.node_names[1]
    kinds = (StrandedKind("gpu", 8, 6, 6), StrandedKind("nic", 99, 0, 0))
    lost = Stranded(("w",), kinds, (StrandedNodes((node,), kinds),))
    found = {a.kind: a for a in node_amounts(cluster, stranded=lost) if a.node == node}
    assert (found["gpu"].stranded, found["gpu"].free) == (2, 6)
    unsure = Stranded(
        ("w",), (StrandedKind("gpu", 8, 2, 6),), (StrandedNodes((node,), (StrandedKind("gpu", 8, 2, 6),)),)
    )
    assert next(a.stranded for a in node_amounts(cluster, stranded=unsure) if (a.node, a.kind) == (node, "gpu")) == 2
    assert "up to 4 GPUs may be" in str(chart(cluster, stranded=unsure))
    assert found["nic"].free == 0
    assert "stranded on 3 nodes is not known" in str(chart(cluster, stranded=replace(lost, not_examined=3)))


def test_every_node_is_in_exactly_one_row():
    chance = random.Random(3)
    for count, states in ((5, 5), (40, 40), (41, 3), (3000, 30), (3000, 700)):
        values = {f"n{at:04d}": (chance.randrange(states), chance.randrange(1 + states // 40)) for at in range(count)}
        bands, words = of_nodes(values)
        assert sorted(node for band in bands for node in band.nodes) == sorted(values)
        assert len(bands) <= max(MOST_ROWS, 1)
        assert bool(words) == (count > MOST_ROWS)
        for band in bands:
            rows = [values[node] for node in band.nodes]
            assert band.least == tuple(map(min, zip(*rows, strict=True)))
            assert band.most == tuple(map(max, zip(*rows, strict=True)))


def test_hovering_over_a_row_tells_its_nodes():
    """The tooltip of both charts over nodes contains the names of the nodes, as they are in the cluster."""
    headroom = Headroom("w", Bounded(2, 2), (Fit("w", "node", tuple(f"n{at}" for at in range(50)), Bounded(1, 1)),))
    assert [row["which"] for row in rows_of(chart([headroom]))] == ["n0, n1, n10, n11, n12, n13, n14, n15 and 42 more"]
    rows = rows_of(chart(load_cluster("sample:dgx-h100")))
    assert {row["which"] for row in rows} == {f"dgx-0{at}" for at in range(1, 9)}


@pytest.mark.long
def test_a_large_cluster_makes_a_small_chart():
    """1,000 busy nodes in hundreds of states: under 500 kB, and Altair's limit of 5,000 rows stops nothing."""
    drawn = chart(big_cluster(1000))
    assert len(json.dumps(drawn.to_dict())) < LARGEST
    assert "1,000 nodes" in str(drawn)


def test_numbers_that_are_not_proven_say_so():
    classes = (Fit("w", "node", ("a", "b"), Bounded(2, 2)), Fit("w", "node", ("c",), Bounded(1, 3)))
    rows = rows_of(chart([Headroom("w", Bounded(5, 7), classes)]))
    assert {row["node"]: row["words"] for row in rows} == {"a": "2", "b": "2", "c": "≥1"}


def test_nodes_that_share_devices_are_one_row():
    headroom = Headroom("w", Bounded(3, 3), (Fit("w", "nodes", ("a", "b"), Bounded(3, 3)),))
    assert [row["node"] for row in rows_of(chart([headroom]))] == ["a + b together"]


def test_regret_tells_best_first_fit_and_difference(plan):
    """Every goal of the plan is there with kube-scheduler's two values and how much worse they are."""
    rows = rows_of(chart(plan))
    plain = {goal.goal: goal.value for goal in plan.first_fit_plain.goals}
    worse = [row["worse"] for row in rows if row.get("who", "").startswith("L")]
    assert worse == [plain[goal.goal] - goal.value for goal in plan.goals]


def a_fleet(placed: dict[str, int], *, bound: int, proven: bool) -> Plan:
    """Return a fleet plan that wants 5 replicas of every workload and has places for some of them."""
    replicas = tuple(PlacedPod(name, at, f"n{at}", ()) for name, count in placed.items() for at in range(count))
    missing = 5 * len(placed) - len(replicas)
    goals = (GoalValue("unplaced", missing, bound, proven=proven),)
    workloads = tuple(Workload(name, (), replicas=5) for name in placed)
    return Plan(PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE, Question(workloads), pods=replicas, goals=goals)


def test_scenarios_stand_beside_each_other_with_what_is_placed_of_each_workload():
    drawn = chart(
        [
            ScenarioAnswer("now", a_fleet({"large": 0, "small": 5}, bound=5, proven=True)),
            ScenarioAnswer("more", a_fleet({"large": 2, "small": 5}, bound=1, proven=False)),
            ScenarioAnswer("broken", error=InputError("no such node")),
        ]
    )
    rows = rows_of(drawn)
    assert [(r["scenario"], r["workload"], r["from"], r["to"]) for r in rows if "workload" in r] == [
        ("now", "B small", 0, 5),
        ("more", "A large", 0, 2),
        ("more", "B small", 2, 7),
    ]
    ends = [r["words"] for r in rows if "workload" not in r]
    assert ends == ["5 of 10", "7 of 10, at most 9", "not answered: no such node"]


def charts(cluster: Cluster, plan):
    fits = [
        Headroom(HOSTILE, Bounded(1, 1), tuple(Fit("w", "node", (name,), Bounded(1, 1)) for name in cluster.node_names))
    ]
    return (
        chart(cluster),
        chart(fits),
        chart(plan),
        chart([ScenarioAnswer(HOSTILE, a_fleet({HOSTILE: 3}, bound=2, proven=True))]),
    )


def test_names_from_a_cluster_are_data_and_never_expressions(cluster, plan):
    node = cluster.node_by_name[cluster.node_names[0]]
    from msgspec.structs import replace

    bad = replace(node, metadata=replace(node.metadata, name=HOSTILE))
    made = dataclasses.replace(cluster, nodes=(bad,), name=HOSTILE)
    for drawn in charts(with_more_nodes(made, like=cluster.node_names[1], count=1), plan):
        spec = drawn.to_dict()
        assert "\u202e" not in json.dumps(spec, ensure_ascii=False)
        for text, path in strings(spec):
            if "img src" in text:
                assert path[-2:-1] == ("values",) or path[-1] in ("text", "subtitle", "description", "domain"), path
                assert "expr" not in path


def test_nothing_in_a_chart_points_to_the_network(cluster, plan):
    """What a notebook gets holds Vega-Lite for JupyterLab and a table, no script and no address but the schema's."""
    for drawn in charts(cluster, plan):
        bundle = drawn._repr_mimebundle_()
        assert set(bundle) == {"application/vnd.vegalite.v5+json", "text/plain"}
        spec = dict(bundle["application/vnd.vegalite.v5+json"])
        assert spec.pop("$schema").endswith("/v5.json")
        assert "http" not in json.dumps(spec).replace("application/http", "")


def test_nothing_to_draw_is_reported_in_words():
    assert "No devices to show" in str(chart(Cluster()))
    assert "nothing to compare" in str(chart(Plan(PlanStatus.STOPPED, Question(()))))
    assert chart(Cluster()).to_dict()


def check_iris():
    """Print when the grammar of IRIs was imported, and two checks."""
    import sys

    early = "rfc3987_syntax" in sys.modules
    from jsonschema import Draft202012Validator as Reader

    check = Reader({"format": "iri"}, format_checker=Reader.FORMAT_CHECKER).is_valid
    print(early, check("https://example.org/\u00e4"), check("<<"), "rfc3987_syntax" in sys.modules)


@pytest.fixture
def small():
    return dra_lab.chart(dra_lab.load_cluster("sample:two-sockets"))


def test_a_chart_has_no_ground_and_no_ink_of_its_own(small):
    """JupyterLab shows a chart on its own ground, with texts in the colour of the text around it."""
    config = small._repr_mimebundle_()[VEGALITE]["config"]
    assert config["background"] == "transparent"
    assert config["title"]["color"] == config["style"]["guide-label"]["fill"] == "currentColor"


def test_a_background_that_was_set_is_kept(small):
    """A person's background stays, and the colours of texts stay those that Vega chooses."""
    for given in (small.properties(background="#ffffff"), small.configure(background="#ffffff")):
        assert "title" not in given._repr_mimebundle_()[VEGALITE].get("config", {})


def test_a_theme_of_altair_is_kept(small):
    """A chart keeps the colours of an enabled Altair theme."""
    with alt.theme.enable("dark"):
        assert small._repr_mimebundle_()[VEGALITE]["config"].keys() <= {"view"}


def test_a_chart_that_is_saved_is_as_altair_makes_it(small):
    """A saved page or picture has a white background, because its surroundings are unknown."""
    assert "background" not in small.to_dict()["config"]


@pytest.mark.long
def test_iris_are_checked_as_ever_though_their_grammar_waits():
    pytest.importorskip("rfc3987_syntax", reason="rfc3987_syntax is not installed here: nothing is put off")
    code = code_of(check_iris)
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "True", "False", "True"]

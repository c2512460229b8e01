"""What selectors read, refuse and answer, beyond the recorded cases."""

from __future__ import annotations

import json

import pytest

from dra_lab.cel import cost
from dra_lab.cel.selector import admit_selector, compile_selector
from dra_lab.cli import main
from dra_lab.errors import CelCompileError, CelRuntimeError
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity

DRIVER = "gpu.nvidia.com"
GPU = Device(
    name="gpu-0",
    attributes={
        "productName": DeviceAttribute(string="NVIDIA H100 80GB HBM3"),
        "index": DeviceAttribute(int_=3),
        "ecc": DeviceAttribute(bool_=True),
        "driverVersion": DeviceAttribute(version="570.86.15"),
        "resource.kubernetes.io/pcieRoot": DeviceAttribute(string="pci0000:00"),
    },
    capacity={"memory": DeviceCapacity(value="80Gi")},
    allow_multiple_allocations=True,
)
WITH_LIST = Device(
    name="gpu-1", attributes={"cpus": DeviceAttribute(ints=(0, 1, 2)), "versions": DeviceAttribute(versions=("1.2.0",))}
)


def matches(expression, device=GPU, driver=DRIVER, **options):
    return compile_selector(expression, **options).matches(driver, device)


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.nvidia.com"].productName.lowerAscii().contains("h100")',
        'device.attributes["gpu.nvidia.com"].driverVersion.compareTo(semver("570.0.0")) > 0',
        'device.capacity["gpu.nvidia.com"].memory == quantity("81920Mi")',
        '!("dra.net" in device.attributes) && !has(device.attributes["dra.net"].rdma)',
        '!("dra.net" in device.attributes) && device.attributes["dra.net"].size() == 0',
        "device.attributes[device.driver].index == 3",
        'cel.bind(g, device.attributes["gpu.nvidia.com"], g.index == 3 && g.ecc)',
        'cel.bind(d, device, d.driver == "gpu.nvidia.com" && d.attributes["gpu.nvidia.com"].index == 3)',
        'device.attributes.exists(domain, domain == "resource.kubernetes.io")',
        '!device.attributes.exists(domain, domain == "dra.net")',
        'device.attributes["dra.net"].?rdma.orValue(true)',
        'format.dns1123Label().validate("a-b") == optional.none()',
        '!format.dns1123Label().validate("A").hasValue() == false',
        '["c", "a", "b"].sort().join("") == "abc"',
        '["a", "b"].indexOf("b") == 1 && "abc".indexOf("c") == 2',
        'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && ip("::1").isLoopback()',
        'url("https://u@a.b:80/c%20d?x=1").getPort() == "80"',
        '"a1b22".findAll("[0-9]+") == ["1", "22"]',
        '"%s %d %.2f %x".format(["a", 1, 2.5, 255]) == "a 1 2.50 ff"',
        "sets.equivalent([1, 2], [2, 1, 1]) && [[1], [2]].flatten() == [1, 2]",
        'device.attributes["gpu.nvidia.com"].index + 1 == 4 && "a" + "b" == "ab" && [1] + [2] == [1, 2]',
        "[1, 2, 3].map(x, x * 2).filter(x, x > 2) == [4, 6]",
        "device.allowMultipleAllocations",
        '!("570.86.15" == device.attributes["gpu.nvidia.com"].driverVersion)',
        'device.attributes["gpu.nvidia.com"].driverVersion != "570.86.15"',
        'device.attributes["gpu.nvidia.com"].driverVersion == semver("570.86.15+build")',
        'dyn(duration("1h")) + dyn(duration("30m")) == duration("90m")',
        'device.attributes["gpu.nvidia.com"].nosuch == 1 || true',
    ],
)
def test_libraries_and_lookups_mean_what_they_mean_to_kubernetes(expression):
    """Each of these is true in Kubernetes 1.36 on the device above."""
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("device.driver", "must evaluate to bool, not string"),
        ('device.capacity["d"].memory > 5', "compareTo(quantity"),
        ("device.name == 'a'", "driver, attributes, capacity"),
        ("cel.bind(d, device, d.nosuch == 1)", "undefined field 'nosuch'"),
        ("size(device) == 4", "no value here"),
        ("math.greatest([1]) == 1", "line 1, column 1"),
        ('device.driver == "a" &&', "Syntax error"),
        ('device.attributes["d"].list.exists(x, x == 1)', "DRAListTypeAttributes"),
        ("", "Syntax error"),
        ("true" + " " * 10_240, "10240"),
        ("\ud800", "does not compile"),
        ("[1].exists_one(i, v, v == 1)", "undeclared reference to 'i'"),
        ('string(quantity("1")) == "1"', "no matching overload"),
        ('quantity("1").text == "1"', "text"),
        ('kubernetes.Quantity{text: "1"} == quantity("1")', "kubernetes.Quantity"),
    ],
)
def test_a_selector_that_does_not_compile_says_what_to_do(expression, says):
    """A compile error names the place or the remedy."""
    with pytest.raises(CelCompileError) as caught:
        compile_selector(expression)
    assert says in str(caught.value)
    assert caught.value.expression == expression


def test_a_compile_error_points_at_the_offset_in_the_text():
    """`position` is the offset of the problem, over several lines."""
    with pytest.raises(CelCompileError) as caught:
        compile_selector("true &&\n  foo(1)")
    assert caught.value.position == len("true &&\n  foo")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ('device.attributes["gpu.nvidia.com"].nosuch == 1', "guard it with has("),
        ('device.attributes["gpu.nvidia.com"].memory == 1', 'device.capacity["gpu.nvidia.com"].memory'),
        ('device.attributes["gpu.nvidia.com"].pcieRoot == ""', 'device.attributes["resource.kubernetes.io"].pcieRoot'),
        ('device.attributes["gpu.nvidia.com"].productName < 1', "gpu-0"),
        ('device.attributes["gpu.nvidia.com"].productName', "not bool"),
        ('quantity("x").isInteger()', "quantity"),
        ('device.attributes["gpu.nvidia.com"].driverVersion == "570.86.15"', "semver("),
    ],
)
def test_a_selector_that_fails_on_a_device_says_why_and_where_the_value_is(expression, says):
    """A run-time error names the device and, for a missing key, where it is published or how to guard it."""
    with pytest.raises(CelRuntimeError) as caught:
        matches(expression)
    assert says in str(caught.value)


def test_the_names_that_a_selector_reads_are_known():
    """`attributes` and `capacity` are the full names that stand in the text, through `cel.bind`, `has` and `in`."""
    selector = compile_selector(
        'cel.bind(g, device.attributes["a.b"], g.x == 1 && has(g.y)) && "z" in device.attributes["c.d"] '
        '&& device.attributes["a.b"][?"o"].hasValue() && device.capacity["a.b"].memory.isInteger()'
    )
    assert selector.attributes == {"a.b/x", "a.b/y", "a.b/o", "c.d/z"}
    assert selector.capacity == {"a.b/memory"}


def test_devices_of_equal_named_values_have_one_answer():
    """Devices that differ in what a selector does not name have the answer of their named values."""
    selector = compile_selector('device.attributes["gpu.nvidia.com"].index < 2')
    devices = [
        Device(name=str(i), attributes={"index": DeviceAttribute(int_=i % 4), "uuid": DeviceAttribute(string=str(i))})
        for i in range(40)
    ]
    assert [selector.matches(DRIVER, device) for device in devices] == [i % 4 < 2 for i in range(40)]


def test_a_bool_and_an_int_of_equal_value_are_not_confused_by_the_memo():
    """`1` and `true` are different values to CEL, though equal to Python."""
    selector = compile_selector('device.attributes["d"].x == true')
    for member, answer in ((DeviceAttribute(int_=1), False), (DeviceAttribute(bool_=True), True)):
        assert selector.matches("d", Device(name="n", attributes={"x": member})) is answer


def test_one_list_fails_every_selector_without_the_gate():
    """Kubernetes 1.36 converts all attributes first, so a list fails the selector even if it does not name it.

    Rule: docs/semantics.md 4.1.6.
    """
    with pytest.raises(CelRuntimeError, match="DRAListTypeAttributes"):
        matches("true", WITH_LIST)


def test_lists_are_read_where_they_are_known():
    """With list-typed attributes, loops and `includes` work, and a result of unknown type is let through."""
    for expression in (
        'device.attributes["gpu.nvidia.com"].cpus.exists(c, c == 2)',
        'device.attributes["gpu.nvidia.com"].cpus.includes(1)',
        'device.attributes["gpu.nvidia.com"].versions.includes(semver("1.2.0"))',
        "dyn(true)",
    ):
        assert matches(expression, WITH_LIST, list_type_attributes=True)


def test_a_new_selector_that_may_cost_too_much_is_refused_as_the_api_server_does():
    """Above 1,000,000 units `admit_selector` refuses; the scheduler still evaluates a stored one."""
    costly = '["a", "b"].indexOf("b") == 1'
    assert compile_selector(costly).max_cost > cost.LIMIT
    assert matches(costly)
    with pytest.raises(CelCompileError, match="1000000"):
        admit_selector(costly)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ('{} == "a"', False),
        ('{} == "a\\u0000b"', True),
        ('{} == "a\0b"', True),
        ("{}.size() == 3", True),
        ('{}.endsWith("b") && {} < "aa"', True),
        ('{}.lowerAscii() == "a"', False),
        ('"a\\u0000B".lowerAscii() == {}', True),
    ],
)
def test_text_does_not_end_at_a_nul(expression, wanted):
    """The API server looks at the length of an attribute's text only: NUL is a character as any other."""
    device = Device(name="d", attributes={"s": DeviceAttribute(string="a\0b")})
    selector = compile_selector(expression.replace("{}", 'device.attributes["gpu.example.com"].s'))
    assert selector.matches("gpu.example.com", device) is wanted


DEEP = "(1 + " * 60 + "1" + ")" * 60 + " == 61"


def test_a_selector_deeper_than_the_engine_is_not_checked(tmp_path, capsys):
    """Kubernetes may read it, so that it is neither wrong nor right: exit status 2, with what to do."""
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu.nvidia.com", "selectors": [{"cel": {"expression": DEEP}}]},
    }
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "deep"}}
    (tmp_path / "claim.json").write_text(json.dumps(claim | {"spec": {"devices": {"requests": [request]}}}))
    for command in (["plan", "sample:eks-p4d", "--claim"], ["check", "sample:eks-p4d"]):
        assert main([*command, str(tmp_path / "claim.json")]) == 2
        shown = "".join(capsys.readouterr())
        assert ("deeper than dra-lab reads" in shown, "Traceback" in shown) == (True, False)


REFUSED = [
    ("a pattern is one of RE2", 'device.driver.matches("(")', 22),
    ("also in the form of a function", 'matches(device.driver, "(")', -1),
    ("a pattern to find too", 'device.driver.find("[") == ""', -1),
    ("and to find all", 'device.driver.findAll("*").size() == 0', -1),
    ("a duration is one", 'duration("1 hour") > duration("1h")', -1),
    ("a time is one", 'timestamp("today") < timestamp("2026-01-01T00:00:00Z")', -1),
    ("a list holds one type", 'device.driver in ["a", 1]', -1),
    ("a map holds values of one type", '{"a": 1, "b": "c"}.size() == 2', -1),
    ("attributes are of another type than texts", '[device.attributes["d"].a, "x"].size() == 2', -1),
    ("deep inside as well", 'device.driver == "x" || [1].exists(i, [i, "a"].size() == 2)', -1),
]
ACCEPTED = [
    ("a pattern that is computed is read later", 'device.driver.matches("(" + device.driver)'),
    ("a pattern of RE2", r'device.driver.matches("^[a-z]{3}\\d+$")'),
    ("the arguments of format may differ", '"%s %d".format(["a", 1]) == device.driver'),
    ("at any depth of literals", '"%s".format([[1, "a"]]) == device.driver'),
    ("lists of dyn are of one type", '[dyn(1), dyn("a")].size() == 2'),
    ("an attribute is no literal", 'timestamp(device.driver) < timestamp("2026-01-01T00:00:00Z")'),
    ("empty lists and maps", '[].size() == {}.size() || ["a"].exists(x, x == device.driver)'),
]


@pytest.mark.parametrize(("rule", "expression", "position"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_bad_literal_does_not_compile(rule, expression, position):
    """The error stands at the literal."""
    with pytest.raises(CelCompileError) as caught:
        compile_selector(expression)
    assert caught.value.position > 0, rule
    assert position in (-1, caught.value.position)


@pytest.mark.parametrize(("rule", "expression"), ACCEPTED, ids=[case[0] for case in ACCEPTED])
def test_what_is_no_bad_literal_compiles(rule, expression):
    """Only literals are looked at."""
    assert compile_selector(expression).expression == expression, rule


def test_an_attribute_without_a_value_fails_on_its_device_alone(tmp_path, capsys):
    """Answers are remembered by what a selector reads; those about a device that fails are not those about others."""
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "one"}}
    one = {"name": "gpu", "exactly": {"deviceClassName": "a-class"}}
    (tmp_path / "claim.json").write_text(json.dumps(claim | {"spec": {"devices": {"requests": [one]}}}))
    text = 'device.attributes["gpu.example.com"].size == 1'
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "a-class"}}
    device_class = head | {"spec": {"selectors": [{"cel": {"expression": text}}]}}
    for name, more in (("sound", {}), ("broken", {"x": {}})):
        device = {"name": "gpu-0", "attributes": {"size": {"int": 1}, **more}}
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": "n", "pool": pool, "devices": [device]}
        slice_ = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n"}, "spec": spec}
        objects = {"apiVersion": "v1", "kind": "List", "items": [device_class, slice_]}
        (tmp_path / f"{name}.json").write_text(json.dumps(objects))
    ends = {}
    for name in ("broken", "sound", "broken"):
        status = main(["plan", str(tmp_path / f"{name}.json"), "--claim", str(tmp_path / "claim.json")])
        ends.setdefault(name, []).append((status, "without a value" in "".join(capsys.readouterr())))
    assert ends == {"broken": [(1, True)] * 2, "sound": [(0, False)]}

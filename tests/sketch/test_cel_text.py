"""Texts of selectors that are written for a person read what a device publishes, whatever it is called and says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dra_lab.cel.selector import compile_selector
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.sketch.cel_text import literal, read_of

DRIVER = "gpu.nvidia.com"
NAMES = st.sampled_from(("in", "true", "null", "type", "package", "_a1", "dra.net/in", "dra.net/numaNode"))
# the engine cuts a device's text at NUL, which no driver publishes
TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)
VALUES = st.one_of(
    st.builds(lambda value: DeviceAttribute(string=value), TEXTS),
    st.builds(lambda value: DeviceAttribute(int_=value), st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda value: DeviceAttribute(bool_=value), st.booleans()),
)


@given(NAMES, VALUES)
def test_what_a_device_publishes_is_found_again(name, attribute):
    """Values beyond U+FFFF and names that are words of CEL included."""
    read, there = read_of(name, DRIVER)
    found = compile_selector(f"{there} && {read} == {literal(attribute.value)}")
    assert found.decide(DRIVER, Device(name="d", attributes={name: attribute}))


@given(NAMES)
def test_a_device_without_it_is_passed_over(name):
    read, there = read_of(name, DRIVER)
    assert not compile_selector(f"{there} && {read} == 1").decide(DRIVER, Device(name="d"))


@given(NAMES)
def test_capacities_are_read_likewise(name):
    read, there = read_of(name, DRIVER, "capacity")
    found = compile_selector(f'{there} && {read}.compareTo(quantity("4Gi")) == 0')
    assert found.decide(DRIVER, Device(name="d", capacity={name: DeviceCapacity(value="4Gi")}))

"""The data files of the drivers."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from code_of import code_of

from dra_lab import drivers
from dra_lab.drivers import KINDS, LEVELS, known_drivers, profile
from dra_lab.drivers.profiles import convert
from dra_lab.errors import DraLabError

FULL_NAME = re.compile(r"[a-z0-9.-]+/[A-Za-z_][A-Za-z0-9_]{0,31}")


def test_known_drivers() -> None:
    """Every driver of the issue has a data file."""
    assert set(known_drivers()) >= {
        "gpu.nvidia.com",
        "dra.net",
        "dra.cpu",
        "dra.memory",
        "gpu.amd.com",
        "gpu.intel.com",
        "sriovnetwork.k8snetworkplumbingwg.io",
        "hami-core-gpu.project-hami.io",
        "gpu.example.com",
    }


@pytest.mark.parametrize("driver", known_drivers())
def test_file_is_named_after_its_driver(driver: str) -> None:
    """A data file is found by the driver's name, so both are the same."""
    assert profile(driver).driver == driver


@pytest.mark.parametrize("driver", known_drivers())
def test_sources_are_named(driver: str) -> None:
    """Every data file says where its facts were read, and every class too."""
    known = profile(driver)

    assert known.sources
    assert all(documented.source for documented in known.classes)


@pytest.mark.parametrize("driver", known_drivers())
def test_names_are_full(driver: str) -> None:
    """Attribute names are full names and levels and kinds are known words."""
    known = profile(driver)
    names = [name for attributes in known.topology.values() for name in attributes]
    names += [name for rule in (*known.kinds, *known.labels, *known.offers) for name in rule.when]

    assert [name for name in names if not FULL_NAME.fullmatch(name)] == []
    assert set(known.topology) <= set(LEVELS)
    assert {rule.kind for rule in (*known.kinds, *known.offers)} <= set(KINDS)


@pytest.mark.parametrize("driver", known_drivers())
def test_offers_name_documented_classes(driver: str) -> None:
    """An offer asks for a class that the same file documents, so that a missing class can be written."""
    known = profile(driver)

    assert {offer.device_class for offer in known.offers} <= {documented.name for documented in known.classes}


@pytest.mark.parametrize("driver", known_drivers())
def test_offer_selectors_are_guarded(driver: str) -> None:
    """Every attribute that an offer's selector reads is guarded by has() in the same selector."""
    for offer in profile(driver).offers:
        for selector in offer.selectors:
            for read in re.findall(r'device\.attributes\["[^"]+"\]\.\w+', selector):
                assert f"has({read})" in selector


def test_dranet_documents_the_short_selector() -> None:
    """The RDMA NIC offer shows DRANET's own words and writes a guarded form that contains them."""
    offer = next(offer for offer in profile("dra.net").offers if offer.key == "rdma-nic")

    assert offer.documented == ('device.attributes["dra.net"].rdma == true',)
    assert offer.documented[0] in offer.selectors[0]


def test_dranet_class() -> None:
    """DRANET brings no class; the documented one is dranet and selects the driver."""
    found = drivers.documented_class("dranet")

    assert found is not None
    assert (found[0], found[1].selectors) == ("dra.net", ('device.driver == "dra.net"',))


def test_class_is_found_by_its_other_names() -> None:
    """Users name DRANET's class after the driver too."""
    assert drivers.documented_class("dra.net") == drivers.documented_class("dranet")


def test_unknown_driver_gets_a_generic_profile() -> None:
    """A driver without a file appears under its own name, with standard topology only."""
    known = profile("fpga.example.org")

    assert (known.title, known.known, known.offers) == ("fpga.example.org", False, ())
    assert known.topology["numaNode"] == ("resource.kubernetes.io/numaNode",)


@pytest.mark.parametrize("driver", ["../machines", "machines", "/etc/passwd", "gpu.nvidia.com.yaml", ""])
def test_driver_name_is_never_a_path(driver: str) -> None:
    """A driver's name comes from a cluster and cannot make us read another file."""
    assert not profile(driver).known


def test_misspelt_field_is_refused() -> None:
    """A misspelt field in a data file is told, not passed over."""
    raw = {"driver": "a.example", "title": "A", "offers": [{"key": "a", "lable": "A"}]}

    with pytest.raises(DraLabError, match=r"a\.yaml: .*unknown field `lable`"):
        convert(raw, drivers.DriverProfile, "a.yaml")


def test_levels_of_the_matrix() -> None:
    """The NUMA names are those of the availability matrix, most standard first."""
    expected = {
        "gpu.nvidia.com": ("resource.kubernetes.io/numaNode", "gpu.nvidia.com/numa"),
        "dra.net": ("resource.kubernetes.io/numaNode", "dra.net/numaNode"),
        "dra.cpu": ("resource.kubernetes.io/numaNode", "dra.net/numaNode", "dra.cpu/numaNodeID"),
        "gpu.amd.com": ("gpu.amd.com/numaNode",),
        "gpu.intel.com": (),
        "sriovnetwork.k8snetworkplumbingwg.io": ("dra.net/numaNode",),
    }

    assert {driver: profile(driver).topology.get("numaNode", ()) for driver in expected} == expected


def test_standard_name_is_looked_at_too() -> None:
    """A driver that begins to publish the standard name is read without a new data file."""
    assert drivers.level_attributes("gpu.amd.com", "numaNode") == (
        "gpu.amd.com/numaNode",
        "resource.kubernetes.io/numaNode",
    )


def read_at_once() -> None:
    """Read a profile in two threads, which leave a barrier at the same moment.

    The window is a few instructions wide, and closes with the first reading of a process.
    """
    import sys
    import threading

    from dra_lab.drivers.profiles import DriverProfile, convert, known_drivers, read_data

    sys.setswitchinterval(1e-6)
    name = known_drivers()[0] + ".yaml"
    raw, start = read_data(name), threading.Barrier(2)
    threads = [threading.Thread(target=lambda: (start.wait(), convert(raw, DriverProfile, name))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_may_be_the_first_to_read() -> None:
    """The planner's screen and its worker read a profile at once; without a lock one process in seven crashed."""
    ended = [subprocess.run([sys.executable, "-c", code_of(read_at_once)], check=False).returncode for _ in range(8)]
    assert ended == [0] * 8

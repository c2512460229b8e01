"""Small topology files written for the tests, from the formats' descriptions."""

from __future__ import annotations

TOPO = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tPIX\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNODE\tPXB\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tSYS\tSYS\tPHB\t56-111,168-223\t1\t\tN/A\n"
    "NIC0\tPIX\tNODE\tSYS\t X \tNODE\tSYS\n"
    "NIC1\tNODE\tPXB\tSYS\tNODE\t X \tSYS\n"
    "NIC2\tSYS\tSYS\tPHB\tSYS\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_3\n  NIC2: mlx5_4\n"
)
"""Three GPUs with NVLink, each with a NIC on its root; the header underlined as a terminal has it."""


def hwloc(body: str, *, version: str = "2.0", top: str = 'type="Machine" os_index="0" nodeset="0x00000003"') -> bytes:
    """Return an hwloc export with this body in its machine."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return f'{head}<topology version="{version}">\n<object {top}>\n{body}</object>\n</topology>\n'.encode()


def package(number: int, inside: str) -> str:
    """Return a package with one NUMA node and two CPUs of one core; `inside` hangs beside the node."""
    cpus, nodes = f"0x{3 << 2 * number:08x}", f"0x{1 << number:08x}"
    return (
        f'<object type="Package" os_index="{number}" cpuset="{cpus}" nodeset="{nodes}">\n'
        f'<object type="NUMANode" os_index="{number}" cpuset="{cpus}" nodeset="{nodes}" local_memory="4096"/>\n'
        f'<object type="Core" os_index="0" cpuset="{cpus}"/>\n{inside}</object>\n'
    )


def host_bridge(buses: str, inside: str) -> str:
    """Return a host bridge over buses such as `0000:[10-1f]`."""
    return f'<object type="Bridge" bridge_type="0-1" bridge_pci="{buses}">\n{inside}</object>\n'


def bridge(address: str, inside: str) -> str:
    """Return a PCI bridge."""
    head = f'<object type="Bridge" bridge_type="1-1" pci_busid="{address}" pci_type="0604 [1000:c010]">'
    return f"{head}\n{inside}</object>\n"


def pci(address: str, ids: str, inside: str = "") -> str:
    """Return a PCI device, `ids` such as `0302 [10de:2330] [10de:16c1]`."""
    return f'<object type="PCIDev" pci_busid="{address}" pci_type="{ids} a1">\n{inside}</object>\n'


def named(name: str, kind: int) -> str:
    """Return a name that the kernel or a library gives to the device around it."""
    return f'<object type="OSDev" name="{name}" osdev_type="{kind}"/>\n'


GPU = "0302 [10de:2330] [10de:16c1]"
NIC = "0207 [15b3:1021] [15b3:0041]"

SERVER = hwloc(
    package(
        0,
        host_bridge(
            "0000:[10-1f]",
            bridge(
                "0000:10:00.0",
                bridge(
                    "0000:11:00.0",
                    bridge("0000:12:00.0", pci("0000:13:00.0", GPU, named("nvml0", 5)))
                    + bridge("0000:12:01.0", pci("0000:14:00.0", NIC, named("ib0", 2) + named("mlx5_0", 3))),
                ),
            ),
        )
        + host_bridge("0000:[20-2f]", bridge("0000:20:00.0", pci("0000:21:00.0", GPU, named("nvml1", 5)))),
    )
    + package(
        1,
        host_bridge(
            "0001:[80-8f]",
            pci("0001:81:00.0", GPU, named("nvml2", 5)) + pci("0001:82:00.0", NIC, named("mlx5_4", 3)),
        )
        + host_bridge("0000:[30-3f]", pci("0000:31:00.0", "0207 [15b3:1021] [15b3:0041]", named("mlx5_3", 3))),
    )
)
"""Three GPUs and three NICs: a switch on the first root, a GPU alone on the second, a second PCI domain."""

NCCL = b"""<system version="1">
  <cpu numaid="0" affinity="00000000,0000000f" arch="x86_64">
    <pci busid="0000:11:00.0" class="0x060400" vendor="0x1000" device="0xc010">
      <pci busid="0000:13:00.0" class="0x030200" vendor="0x10de" device="0x2330"><gpu dev="0" sm="90"/></pci>
      <pci busid="0000:14:00.0" class="0x020700" vendor="0x15b3" device="0x1021">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="00000000,000000f0" arch="x86_64">
    <pci busid="0000:81:00.0" class="0x030200" vendor="0x10de" device="0x2330"/>
    <pci busid="0000:90:00.0" class="0x068000" vendor="0x10de" device="0x22a3"/>
    <nic><net name="eth0" dev="1"/></nic>
  </cpu>
</system>
"""
"""Two NUMA nodes: a switch with a GPU and a NIC; a GPU alone, an NVSwitch, a NIC without an address."""

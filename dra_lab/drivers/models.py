"""The model of a PCI device by its vendor and device id (`data/pci_models.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct, field

from dra_lab.drivers.profiles import convert, read_data


class PciModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model: `ids` are `vendor:device` in hex, `product` is the name that drivers publish, `maker` the vendor's.

    `rdma` is None for what is no NIC; `facts` are further words for the templates of made devices.
    """

    ids: tuple[str, ...]
    product: str
    source: str
    maker: str = ""
    rdma: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@cache
def _models() -> Mapping[str, PciModel]:
    rows = (convert(row, PciModel, "pci_models.yaml") for row in read_data("pci_models.yaml"))
    return {name: row for row in rows for name in row.ids}


def pci_model(vendor: str, device: str) -> PciModel | None:
    """Return what is known of a device by its ids in four hex digits each, or None."""
    return _models().get(f"{vendor}:{device}".lower())

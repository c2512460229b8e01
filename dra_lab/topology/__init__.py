"""Where each device sits and how far apart two devices are."""

from dra_lab.topology.locality import Locality, Place, SkippedDevice, level_value, localities, skipped_devices

__all__ = ["Locality", "Place", "SkippedDevice", "level_value", "localities", "skipped_devices"]

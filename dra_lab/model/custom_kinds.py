"""The objects of Kueue, KAI and Volcano by kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dra_lab.model.queues import QUEUE_KINDS, QueueObject
from dra_lab.model.topologies import TOPOLOGY_KINDS, TopologyObject

CustomObject = TopologyObject | QueueObject
CUSTOM_KINDS: Mapping[str, type[CustomObject]] = MappingProxyType({**TOPOLOGY_KINDS, **QUEUE_KINDS})

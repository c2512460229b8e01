"""The cluster, the drawing and the answers of one notebook."""

from dra_lab.session.drawings import EXAMPLE, EXAMPLE_CLUSTER, MODES, READ, read_plan_file, read_sketch
from dra_lab.session.session import Session

__all__ = ["EXAMPLE", "EXAMPLE_CLUSTER", "MODES", "READ", "Session", "read_plan_file", "read_sketch"]

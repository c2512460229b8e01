"""What a person looks at: hardware pictures, graph pages, charts."""

from dra_lab.pictures.fleet import fleet_svg, fleet_tiles
from dra_lab.pictures.graph_page import graph_frame, graph_page
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.letters import Colour, colours, letters
from dra_lab.pictures.report import report_page

__all__ = [
    "Colour",
    "colours",
    "fleet_svg",
    "fleet_tiles",
    "graph_frame",
    "graph_page",
    "hardware_svg",
    "letters",
    "report_page",
]

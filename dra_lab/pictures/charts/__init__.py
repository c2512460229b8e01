"""Charts for capacity: what is used, planned, free and stranded, what fits where, and what first fit costs.

Altair is imported when a chart is made, and nowhere else. JupyterLab draws the charts without a network; where nothing
can draw them, they are tables of plain text.
"""

from dra_lab.pictures.charts.amounts import Amounts, node_amounts
from dra_lab.pictures.charts.cost_chart import cost_chart
from dra_lab.pictures.charts.devices_chart import devices_chart
from dra_lab.pictures.charts.fits_chart import fits_chart
from dra_lab.pictures.charts.regret_chart import regret_chart
from dra_lab.pictures.charts.scenarios_chart import scenarios_chart
from dra_lab.pictures.charts.utilisation_chart import utilisation_chart

__all__ = [
    "Amounts",
    "cost_chart",
    "devices_chart",
    "fits_chart",
    "node_amounts",
    "regret_chart",
    "scenarios_chart",
    "utilisation_chart",
]

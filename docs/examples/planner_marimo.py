"""The four views of a planner in a marimo notebook, each in a cell of its own: `marimo run planner_marimo.py`."""

import marimo

app = marimo.App(width="full")


@app.cell
def _():
    from dra_lab.session import Session

    session = Session("sample:eks-p4d")
    return (session,)


@app.cell
def _(session):
    from dra_lab.widgets.cluster_bar import ClusterBar

    ClusterBar(session)


@app.cell
def _(session):
    from dra_lab.widgets.claim_canvas import ClaimCanvas

    ClaimCanvas(session)


@app.cell
def _(session):
    from dra_lab.widgets.plan_view import PlanView

    PlanView(session)


@app.cell
def _(session):
    from dra_lab.widgets.hardware_view import HardwareView

    HardwareView(session)


if __name__ == "__main__":
    app.run()

"""Pods on nodes as trees of places: one method for every driver, every level and every kind of device.

- `shapes`: what one pod asks for, as slots and links.
- `levels`, `trees`, `hardware`: a node as nested places, and its canonical state.
- `tables`: the best pod on a state.
- `counting`: what no plan exceeds.
- `fill`: many pods on many nodes.
- `below`: what no plan undercuts.
- `hand_out`: the devices of pods.
"""

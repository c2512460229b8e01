"""Pods on nodes as trees of places: one method for every driver, every level and every kind of device.

- `shapes`: what one pod asks for, as slots and links.
- `levels`, `trees`: a node as nested places, and its canonical state.
- `tables`: the best pod on a state.
- `counting`: what no plan exceeds or undercuts.
- `fill`: many pods on many nodes.
- `place_table`: what is known of one state, as the master asks for it.
"""

"""Drivers: what is known of one vendor's devices, as data: labels, topology attributes, how to ask for them.

Imports model and errors only. One driver is one file, `data/<driver>.yaml`; `data/README.md` says how to add one.
"""

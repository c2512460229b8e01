"""Builds the objects of the sample clusters; `generate.py` beside this folder writes them to files.

One module is one sample or a few small ones; `objects` knows Kubernetes objects, `devices` what each driver publishes.
"""

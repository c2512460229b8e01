"""Data derived from a snapshot; `model.memo` says how long it is kept."""

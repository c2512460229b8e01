"""The objects of DRA: frozen values, no input or output."""

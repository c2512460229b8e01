"""What DRA is: frozen values, no input or output."""

"""Why a claim does not fit, and what would help."""

"""What a person takes away: manifests, tables, reports."""

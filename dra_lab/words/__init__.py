"""An answer as one document: each fact has one wording, and text, HTML, JSON and DataFrames are rendered from it."""

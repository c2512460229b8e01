"""A drawing and a claim, each written as the other, and what to suggest."""

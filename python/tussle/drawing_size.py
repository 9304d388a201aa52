"""Bounds of a drawing's width and height."""

LEAST_PX = 50
"""Less shows nothing."""
MOST_PX = 5000
"""More takes gigabytes as PNG."""

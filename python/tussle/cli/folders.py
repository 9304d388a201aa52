"""Folders of datasets, as they are written on the command line."""

from pathlib import Path


def folder(written: str) -> Path:
    """Return the folder that a word names: a path, or an address like `s3://bucket/folder`."""
    from tussle.dataset.places import place

    return place(written)

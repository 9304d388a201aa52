"""Puts this folder on the import path, for the helpers that several tests share."""

"""Execution of runs in processes of their own.

Each worker imports this package before its first run. It imports no scenarios, metrics or figures: that would
take longer than many runs.
"""

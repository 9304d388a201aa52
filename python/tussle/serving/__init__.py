"""Measurements that clients join, over real networks: server, client, and the resulting dataset."""

from tussle.serving._agent import Agent
from tussle.serving._dataset import holding, partial_folder, write_dataset
from tussle.serving._places import PORT, Place, addresses, own_address, place
from tussle.serving._settings import (
    PATIENCE,
    SendSettings,
    ServeSettings,
    checked_algorithm,
    known_algorithms,
    new_code,
    usual_algorithm,
)

__all__ = [
    "PATIENCE",
    "PORT",
    "Agent",
    "Place",
    "SendSettings",
    "ServeSettings",
    "addresses",
    "checked_algorithm",
    "holding",
    "known_algorithms",
    "new_code",
    "own_address",
    "partial_folder",
    "place",
    "usual_algorithm",
    "write_dataset",
]

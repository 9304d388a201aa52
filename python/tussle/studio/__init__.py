"""The studio: the simulator in one web page, with sliders, and without a server."""

from tussle.studio._module import is_built, packed_module
from tussle.studio._page import QUEUES, lessons, simulator_script, write

__all__ = ["QUEUES", "is_built", "lessons", "packed_module", "simulator_script", "write"]

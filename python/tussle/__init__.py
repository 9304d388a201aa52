"""Which congestion control algorithms can share a bottleneck, and what does each cost the others?"""

from tussle._core import version as _version

__version__ = _version()

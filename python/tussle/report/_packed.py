"""Compression of texts in the page."""

from __future__ import annotations

import base64
import gzip


def packed(text: str) -> str:
    """Compress a text by gzip, in base64; the page unpacks it when it is shown."""
    # A fixed time in the header: the same dataset gives the same page.
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()

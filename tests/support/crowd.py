"""Opens connections from many local addresses. Arguments: address, port, number of addresses, kind.

With kind `joins`, each connection sends the first bytes of a request to join; with `waits`, nothing.
"""

import collections
import contextlib
import errno
import itertools
import socket
import sys

MAX_OPEN = 400
JOIN = b"tussle1J"


def main(address: str, port: int, addresses: int, kind: str) -> None:
    """Open connections until killed; keep the last `MAX_OPEN` open."""
    connections: collections.deque[socket.socket] = collections.deque()
    print("here", flush=True)  # noqa: T201 (the parent waits for this line)
    for number in itertools.cycle(range(addresses)):
        connection = socket.socket()
        connection.setblocking(False)  # noqa: FBT003 (its only argument)
        connection.bind((f"127.77.{number // 250}.{number % 250 + 1}", 0))
        if connection.connect_ex((address, port)) in (0, errno.EINPROGRESS) and kind == "joins":
            # Over loopback a connection is established at once or fails.
            with contextlib.suppress(OSError):
                connection.send(JOIN)
        connections.append(connection)
        if len(connections) > MAX_OPEN:
            connections.popleft().close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

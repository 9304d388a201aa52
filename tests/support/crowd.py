"""A program that opens connections from many addresses of this machine: address, port, number, kind.

Of the kind `joins`, each asks to join and says nothing more; of the kind `waits`, nothing at all.
"""

import collections
import contextlib
import errno
import itertools
import socket
import sys

AT_ONCE = 400
JOIN = b"tussle1J"


def main(address: str, port: int, addresses: int, kind: str) -> None:
    """Come until killed."""
    held: collections.deque[socket.socket] = collections.deque()
    print("here", flush=True)  # noqa: T201 (whoever started it waits for that)
    for number in itertools.cycle(range(addresses)):
        one = socket.socket()
        one.setblocking(False)  # noqa: FBT003 (its only argument)
        one.bind((f"127.77.{number // 250}.{number % 250 + 1}", 0))
        if one.connect_ex((address, port)) in (0, errno.EINPROGRESS) and kind == "joins":
            # Over loopback a connection is there at once, or not at all.
            with contextlib.suppress(OSError):
                one.send(JOIN)
        held.append(one)
        if len(held) > AT_ONCE:
            held.popleft().close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

"""Opens many kinds of connections, none of which knows the code. Arguments: address and port."""

import contextlib
import itertools
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

THREADS = 8
HALF_OPEN = 150
ROUNDS = 400
PREAMBLE = b"tussle1"
KINDS = (
    b"GET / HTTP/1.1\r\n\r\n",
    os.urandom(10_000),
    PREAMBLE + b"T" + os.urandom(16),
    PREAMBLE + b"J" + b"\xff\xff" + os.urandom(10_000),
    PREAMBLE + b"J" + b"\x00\x30" + os.urandom(48),
    b"",
)


def main(address: str, port: int) -> None:
    """Keep `HALF_OPEN` connections half-open, and open others that the server refuses."""
    with contextlib.ExitStack() as half_open, ThreadPoolExecutor(THREADS) as pool:
        for _ in range(HALF_OPEN):
            half_open.enter_context(socket.create_connection((address, port))).send(PREAMBLE[:3])
        kinds = itertools.islice(itertools.cycle(KINDS), ROUNDS)
        list(pool.map(lambda kind: be_refused((address, port), kind), kinds))


def be_refused(server: tuple[str, int], kind: bytes) -> None:
    # The other end may close at any byte.
    with contextlib.suppress(OSError), socket.create_connection(server, timeout=10) as connection:
        connection.sendall(kind)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

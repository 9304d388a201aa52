"""An independent implementation of the channel of `tussle serve`: Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s.

Follows the Noise Protocol Framework, revision 34, RFC 7748 (X25519) and RFC 8439 (ChaCha20-Poly1305). Slow:
for tests only.
"""

import hmac
import os
import struct
from hashlib import blake2s

import numpy as np

_NAME = b"Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s"
_PROLOGUE = b"tussle join 1"
_P = 2**255 - 19
_POLY = (1 << 130) - 5
_QUARTERS = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)
TAG_BYTES = 16


class WrongCodeError(Exception):
    """A tag does not verify: the other end uses another code."""


def x25519(scalar: bytes, point: bytes = bytes([9]) + bytes(31)) -> bytes:
    """Multiply a point of the curve (RFC 7748, section 5)."""
    k = (int.from_bytes(scalar, "little") & ~7 & ((1 << 255) - 1)) | (1 << 254)
    u = int.from_bytes(point, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = (k >> t) & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % _P, b * b % _P, d * a % _P, c * b % _P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _P, u * (da - cb) ** 2 % _P
        x2, z2 = aa * bb % _P, e * (aa + 121665 * e) % _P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, _P - 2, _P) % _P).to_bytes(32, "little")


def _chacha20(key: bytes, counter: int, nonce: bytes, length: int) -> bytes:
    """Return the key stream, all blocks computed at once."""
    blocks = (length + 63) // 64
    state = np.empty((16, blocks), np.uint32)
    words = struct.unpack("<12I", b"expand 32-byte k" + key)
    state[:12] = np.array(words, np.uint32)[:, None]
    state[12] = np.arange(counter, counter + blocks, dtype=np.uint32)
    state[13:] = np.array(struct.unpack("<3I", nonce), np.uint32)[:, None]
    x = state.copy()
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            for one, other, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[one] += x[other]
                mixed = x[third] ^ x[one]
                x[third] = (mixed << np.uint32(turn)) | (mixed >> np.uint32(32 - turn))
    return (x + state).T.astype("<u4").tobytes()[:length]


def _poly1305(key: bytes, message: bytes) -> bytes:
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at : at + 16] + b"\1", "little")) * r % _POLY
    return ((total + int.from_bytes(key[16:], "little")) % (1 << 128)).to_bytes(16, "little")


def _tag(key: bytes, nonce: bytes, associated: bytes, sealed: bytes) -> bytes:
    padded = [part + bytes(-len(part) % 16) for part in (associated, sealed)]
    lengths = struct.pack("<QQ", len(associated), len(sealed))
    return _poly1305(_chacha20(key, 0, nonce, 32), b"".join([*padded, lengths]))


def _xor(one: bytes, other: bytes) -> bytes:
    return (np.frombuffer(one, np.uint8) ^ np.frombuffer(other, np.uint8)).tobytes()


class _Cipher:
    def __init__(self, key: bytes) -> None:
        self._key, self._count = key, 0

    def _nonce(self) -> bytes:
        self._count += 1
        return bytes(4) + struct.pack("<Q", self._count - 1)

    def seal(self, plain: bytes, associated: bytes = b"") -> bytes:
        nonce = self._nonce()
        sealed = _xor(plain, _chacha20(self._key, 1, nonce, len(plain)))
        return sealed + _tag(self._key, nonce, associated, sealed)

    def open(self, frame: bytes, associated: bytes = b"") -> bytes:
        nonce, sealed = self._nonce(), frame[:-TAG_BYTES]
        if _tag(self._key, nonce, associated, sealed) != frame[-TAG_BYTES:]:
            raise WrongCodeError
        return _xor(sealed, _chacha20(self._key, 1, nonce, len(sealed)))


class Handshake:
    """One end of the handshake."""

    def __init__(self, code: str) -> None:
        letters = "".join(letter for letter in code if letter.isalnum()).encode()
        self._hash = self._chaining = blake2s(_NAME).digest()
        self._mix_hash(_PROLOGUE)
        self._own = os.urandom(32)
        self._chaining, hashed, key = self._derive(letters + bytes(32 - len(letters)), 3)
        self._mix_hash(hashed)
        self._cipher = _Cipher(key)

    def _mix_hash(self, data: bytes) -> None:
        self._hash = blake2s(self._hash + data).digest()

    def _derive(self, material: bytes, count: int) -> list[bytes]:
        secret = hmac.digest(self._chaining, material, "blake2s")
        found = [b""]
        for number in range(1, count + 1):
            found.append(hmac.digest(secret, found[-1] + bytes([number]), "blake2s"))
        return found[1:]

    def _mix_key(self, material: bytes) -> None:
        self._chaining, key = self._derive(material, 2)
        self._cipher = _Cipher(key)

    def _mix_public(self, key: bytes) -> None:
        self._mix_hash(key)
        self._mix_key(key)

    def _seal_nothing(self) -> bytes:
        tag = self._cipher.seal(b"", self._hash)
        self._mix_hash(tag)
        return tag

    def _open_nothing(self, tag: bytes) -> None:
        self._cipher.open(tag, self._hash)
        self._mix_hash(tag)

    def write_request(self) -> bytes:
        """Return the client's handshake message."""
        public = x25519(self._own)
        self._mix_public(public)
        return public + self._seal_nothing()

    def read_reply(self, reply_to: bytes) -> tuple[_Cipher, _Cipher]:
        """Process the server's handshake message; return the client's ciphers for sending and receiving."""
        self._mix_public(reply_to[:32])
        self._mix_key(x25519(self._own, reply_to[:32]))
        self._open_nothing(reply_to[32:])
        return self._split()

    def reply_to(self, request: bytes) -> tuple[bytes, tuple[_Cipher, _Cipher]]:
        """Process the client's handshake message; return the reply, and the server's ciphers."""
        self._mix_public(request[:32])
        self._open_nothing(request[32:])
        public = x25519(self._own)
        self._mix_public(public)
        self._mix_key(x25519(self._own, request[:32]))
        message = public + self._seal_nothing()
        incoming, outgoing = self._split()
        return message, (outgoing, incoming)

    def _split(self) -> tuple[_Cipher, _Cipher]:
        one, other = self._derive(b"", 2)
        return _Cipher(one), _Cipher(other)

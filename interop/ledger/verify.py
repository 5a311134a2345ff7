"""Verifies a log's directory: the note's signature, and the root recomputed from all entries.

    verify.py DIR [EARLIER-CHECKPOINT]

Exit 0 good, 1 not. Tiles are compared with what the entries give.
"""

import base64
import hashlib
import pathlib
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(data):
    return hashlib.sha256(data).digest()


def number(index, width):
    text = f"{index % 1000:03}"
    while index := index // 1000:
        text = f"x{index % 1000:03}/{text}"
    return text if width == 256 else f"{text}.p/{width}"


def levels(leaves):
    """Rows of complete subtrees, one for every height."""
    rows = [leaves]
    while len(rows[-1]) > 1:
        row = rows[-1]
        rows.append([sha256(b"\1" + row[i] + row[i + 1]) for i in range(0, len(row) - 1, 2)])
    return rows


def root(rows, size):
    """The root of the first `size` leaves, from complete subtrees."""
    peaks, at = [], 0
    for height in reversed(range(size.bit_length())):
        if size >> height & 1:
            peaks.append(rows[height][at >> height])
            at += 1 << height
    result = peaks.pop()
    while peaks:
        result = sha256(b"\1" + peaks.pop() + result)
    return result


def keys_of(text):
    found = {}
    for line in text.split():
        name, key_id, data = line.split("+", 2)
        raw = base64.b64decode(data, validate=True)
        assert raw[0] == 1 and sha256(name.encode() + b"\n" + raw)[:4].hex() == key_id
        found[name, key_id] = Ed25519PublicKey.from_public_bytes(raw[1:])
    return found


def checkpoint(note, keys):
    """Origin, size and root of a signed checkpoint; some known key must have signed."""
    text, _, signatures = note.rpartition("\n\n")
    text += "\n"
    signed = False
    for line in signatures.splitlines():
        dash, name, data = line.split(" ")
        raw = base64.b64decode(data, validate=True)
        key = keys.get((name, raw[:4].hex()))
        assert dash == "\u2014"
        if key:
            key.verify(raw[4:], text.encode())
            signed = True
    assert signed, "no known key signed"
    origin, size, root_text, rest = text.split("\n")
    assert rest == "" and str(int(size)) == size
    return origin, int(size), base64.b64decode(root_text, validate=True)


def entries(directory, size):
    for first in range(0, size, 256):
        width = min(256, size - first)
        data = (directory / "tile/entries" / number(first // 256, width)).read_bytes()
        at = 0
        for _ in range(width):
            length = int.from_bytes(data[at : at + 2], "big")
            assert length and at + 2 + length <= len(data)
            yield data[at + 2 : at + 2 + length]
            at += 2 + length
        assert at == len(data), "a bundle is too long"


def main(directory, earlier=None):
    directory = pathlib.Path(directory)
    keys = keys_of((directory / "keys.txt").read_text())
    origin, size, expected = checkpoint((directory / "checkpoint").read_text(), keys)
    rows = levels([sha256(b"\0" + entry) for entry in entries(directory, size)])
    assert root(rows, size) == expected, "the entries do not lead to the root"
    level = 0
    while size >> 8 * level:
        row = rows[8 * level]
        for first in range(0, len(row), 256):
            tile = row[first : first + 256]
            path = directory / "tile" / str(level) / number(first // 256, len(tile))
            assert path.read_bytes() == b"".join(tile), f"{path} is another tile"
        level += 1
    if earlier:
        there, before, old = checkpoint(pathlib.Path(earlier).read_text(), keys)
        assert there == origin
        assert before <= size, "rolled back"
        assert root(rows, before) == old, "rewritten"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # whatever goes wrong, the log is not accepted
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)

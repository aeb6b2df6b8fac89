"""The log of a partition on a broker's disk, cut while the broker is down: what a disk that lies leaves behind."""

import pathlib
import struct
from collections import namedtuple

# A record batch of the log: where it lies in its segment, its offsets, and whether it is a transaction's marker.
Batch = namedtuple("Batch", "segment position first last marker")
HEADER = struct.Struct(">qiibIhi")  # base offset, length, epoch, magic, crc, attributes, last offset's delta
CONTROL = 0x20


def batches(folder):
    """All batches of a partition, from its folder <topic>-<partition>."""
    found = []
    for segment in sorted(pathlib.Path(folder).glob("*.log")):
        data, at = segment.read_bytes(), 0
        while at + HEADER.size <= len(data):
            first, length, _, _, _, attributes, delta = HEADER.unpack_from(data, at)
            if length == 0:
                break  # a segment may be longer than what it holds
            found.append(Batch(segment, at, first, first + delta, bool(attributes & CONTROL)))
            at += 12 + length
    return found


def cut(folder, offset):
    """Takes away every batch that holds `offset` or a later one, with what is built from the segments."""
    gone = [b for b in batches(folder) if b.last >= offset]
    assert gone, f"{folder} has nothing at or behind offset {offset}"
    kept = gone[0].segment
    for later in {b.segment for b in gone} - {kept}:
        later.unlink()
    with kept.open("r+b") as f:
        f.truncate(gone[0].position)
    for kind in ("index", "timeindex", "txnindex", "snapshot"):
        for file in pathlib.Path(folder).glob(f"*.{kind}"):
            file.unlink()
    return gone

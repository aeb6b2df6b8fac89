"""Token files as other projects write them, by numpy and struct; independent of riffle."""

import struct

import numpy

LLMC = {2: (20240520, 1), 4: (20240801, 7)}
MEGATRON = {1: (1, "u1"), 2: (8, "<u2"), 4: (4, "<i4"), 8: (5, "<i8")}


def megatron(folder, name, documents, width=2, eos=None, sequences=1):
    """`documents` are lists of ids, eos not included; with `eos` it goes behind each. Each document is cut into
    `sequences` of about one length."""
    code, kind = MEGATRON[width]
    lengths, pointers, table, data, at = [], [], [0], [], 0
    for document in documents:
        ids = document + ([] if eos is None else [eos])
        each = max(1, -(-len(ids) // sequences))
        for start in range(0, len(ids), each) if ids else [0]:
            part = ids[start:start + each]
            lengths.append(len(part))
            pointers.append(at)
            at += len(part) * width
            data += part
        table.append(len(lengths))
    numpy.array(data, dtype=kind).tofile(folder / f"{name}.bin")
    (folder / f"{name}.idx").write_bytes(
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(lengths), len(table))
        + numpy.array(lengths, dtype="<i4").tobytes() + numpy.array(pointers, dtype="<i8").tobytes()
        + numpy.array(table, dtype="<i8").tobytes())
    return f"{name}.bin"


def ds(folder, name, documents, width=2, eos=None, index=True, metadata=True):
    kind, ends, data = "<u2" if width == 2 else "<u4", [], []
    for document in documents:
        data += document + ([] if eos is None else [eos])
        ends.append(len(data))
    numpy.array(data, dtype=kind).tofile(folder / f"{name}.ds")
    if index:
        (folder / f"{name}.ds.index").write_bytes(struct.pack(f"<{len(ends)}Q", *ends))
    if metadata:
        (folder / f"{name}.ds.metadata").write_text(f"gpt2|{width}\n{len(data)}\n{len(data) / 1000:.2f} KT")
    return f"{name}.ds"


def npy(folder, name, documents, width=2, eos=0, header=False, last_eos=True):
    """Without `last_eos` the last document ends with the file, unless it is empty and would be lost."""
    data = [i for d in documents for i in d + [eos]]
    array = numpy.array(data if last_eos or not documents[-1] else data[:-1], dtype="<u2" if width == 2 else "<u4")
    if header:
        numpy.save(folder / f"{name}.npy", array)
    else:
        array.tofile(folder / f"{name}.npy")
    return f"{name}.npy"


def llmc(folder, name, documents, width=2, eos=0):
    data = [i for d in documents for i in [eos] + d]
    header = numpy.zeros(256, dtype="<i4")
    header[0], header[1], header[2] = *LLMC[width], len(data)
    with open(folder / f"{name}.bin", "wb") as out:
        out.write(header.tobytes() + numpy.array(data, dtype="<u2" if width == 2 else "<u4").tobytes())
    return f"{name}.bin"


def read_megatron(prefix):
    """The documents of prefix.bin by prefix.idx, through numpy.memmap as Megatron itself reads them."""
    raw = prefix.with_suffix(".idx").read_bytes()
    assert raw[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, entries = struct.unpack_from("<QBQQ", raw, 9)
    assert version == 1
    kind = {c: k for c, k in MEGATRON.values()}[code]
    lengths = numpy.frombuffer(raw, "<i4", sequences, 34)
    pointers = numpy.frombuffer(raw, "<i8", sequences, 34 + 4 * sequences)
    table = numpy.frombuffer(raw, "<i8", entries, 34 + 12 * sequences)
    assert len(raw) == 34 + 12 * sequences + 8 * entries and table[0] == 0 and table[-1] == sequences
    size = prefix.with_suffix(".bin").stat().st_size
    data = numpy.memmap(prefix.with_suffix(".bin"), mode="r", order="C") if size else b""
    found = []
    for first, end in zip(table, table[1:]):
        found.append([int(i) for s in range(first, end)
                      for i in numpy.frombuffer(data, kind, lengths[s], pointers[s])])
    return found


def read_ds(path):
    width = int(path.with_name(path.name + ".metadata").read_text().splitlines()[0].rsplit("|", 1)[1])
    data = numpy.fromfile(path, "<u2" if width == 2 else "<u4").tolist()
    ends = numpy.fromfile(path.with_name(path.name + ".index"), "<u8").tolist()
    assert int(path.with_name(path.name + ".metadata").read_text().splitlines()[1]) == len(data)
    assert (ends[-1] if ends else 0) == len(data)
    return [data[a:b] for a, b in zip([0] + ends, ends)]


def read_llmc(path):
    raw = path.read_bytes()
    magic, version, count = struct.unpack_from("<3i", raw)
    width = {v: k for k, v in LLMC.items()}[magic, version]
    assert raw[12:1024] == bytes(1012) and len(raw) == 1024 + count * width
    return numpy.frombuffer(raw, "<u2" if width == 2 else "<u4", offset=1024).tolist()

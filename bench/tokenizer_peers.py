"""tokenizer_peers.py PEER VOCABULARY FAMILY A B THREADS [IDS]: one pass over the documents of A, one over B, B again.

One process, one call a document; the clock runs during the calls alone, and is that of the process's own processor
time, which a busy machine does not change. Prints seconds and tokens; writes the ids of A and B to IDS as u32.
With THREADS above 0 each thread first goes over all of A; in the other passes each takes the next document that is
left, and the time is the clock's, until the last one is done. IDS goes with 0 only.
A .docs file has a little-endian u32 with the length in front of each document.
"""

import array
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
BASE = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}


def documents(path):
    data, at, found = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "little")
        found.append(data[at + 4:at + 4 + n].decode())
        at += 4 + n
    return found


def open_peer(peer, vocabulary, family):
    """A function from a text to what the peer gives, and one from that to the ids."""
    if peer == "tokenizers-1":
        import json
        import tempfile

        folder = pathlib.Path(sys.prefix) / "tokenizers-1"
        import hf_files  # it makes its file with the library of before
        file = hf_files.file_of_ranks(hf_files.read_ranks(pathlib.Path(vocabulary)), family, ignore_merges=True)
        for name in [n for n in sys.modules if n.split(".")[0] == "tokenizers"]:
            del sys.modules[name]
        sys.path.insert(0, str(folder))
        import tokenizers
        with tempfile.NamedTemporaryFile("w", suffix=".json") as out:
            json.dump(file, out)
            out.flush()
            encode = tokenizers.Tokenizer.from_file(out.name).encode
        return lambda text: encode(text, add_special_tokens=False), lambda found: found.ids
    if peer == "tokenizers":
        import json

        import hf_files
        import tokenizers
        file = hf_files.file_of_ranks(hf_files.read_ranks(pathlib.Path(vocabulary)), family, ignore_merges=True)
        encode = tokenizers.Tokenizer.from_str(json.dumps(file)).encode_batch_fast
        return lambda text: encode([text], add_special_tokens=False), lambda found: found[0].ids
    if peer == "tiktoken":
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe
        from tiktoken_ext import openai_public
        openai_public.load_tiktoken_bpe = openai_public.data_gym_to_mergeable_bpe_ranks = lambda *a, **k: {}
        pattern = getattr(openai_public, BASE[family])()["pat_str"]  # its own, not what a file on the net says
        encode = tiktoken.Encoding(family, pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(vocabulary),
                                   special_tokens={}).encode_ordinary
    elif peer == "toktok":
        import toktok
        encode = toktok._encoding(BASE[family]).encode_to_numpy  # its fastest; what it exports only counts
    elif peer == "quicktok":
        import quicktok
        encode = quicktok.get_encoding(BASE[family]).encode_ordinary
    elif peer == "gigatoken":
        import gigatoken
        encode = gigatoken.Tokenizer.from_tiktoken(vocabulary, pretokenizer=family).encode
    else:
        sys.exit(f"no peer {peer}")
    return encode, lambda found: found


def one_thread(encode, ids_of, passes, out):
    """Seconds of each pass and the number of tokens of all."""
    seconds, tokens = [], 0
    for text in passes:
        total = 0.0
        for document in text:
            begun = time.process_time()
            found = encode(document)
            total += time.process_time() - begun
            found = ids_of(found)
            tokens += len(found)
            if out and len(seconds) < 2:
                out.write(array.array("I", found).tobytes())
        seconds.append(total)
    return seconds, tokens


def many_threads(encode, passes, threads):
    """Seconds of each pass."""
    def run(documents):
        for document in documents:
            encode(document)

    seconds = []
    for i, text in enumerate(passes):
        shared = iter(text)  # next() of a list's iterator is one step under the interpreter's lock
        workers = [threading.Thread(target=run, args=(text if i == 0 else shared,)) for _ in range(threads)]
        begun = time.perf_counter()
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        seconds.append(time.perf_counter() - begun)
    return seconds


def main(peer, vocabulary, family, a, b, threads, ids=None):
    encode, ids_of = open_peer(peer, vocabulary, family)
    texts = [documents(a), documents(b)]
    passes = (texts[0], texts[1], texts[1])
    if int(threads) > 0:
        if ids:
            sys.exit("IDS goes with 0 THREADS only")
        seconds, more = many_threads(encode, passes, int(threads)), ""
    else:
        seconds, tokens = one_thread(encode, ids_of, passes, open(ids, "wb") if ids else None)
        more = f" tokens={tokens}"
    print(f"cold={seconds[0]:.9f} steady={seconds[1]:.9f} warm={seconds[2]:.9f}{more}")


main(*sys.argv[1:])

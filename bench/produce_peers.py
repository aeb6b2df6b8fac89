"""produce_peers.py NAME INPUT TOKENIZER OUT: INPUT, a .jsonl.zst, becomes NAME's own files of tokens in OUT.

    produce_peers.py vocabulary FILE.tiktoken FAMILY FOLDER    FOLDER/tokenizer.json for all of them
    produce_peers.py counts NAME OUT                           how often each id is there, as JSON [[id, n]...]

Each is run as its documentation shows it, in one process or as near as it has, with an eos behind each document.
What its ids are is looked at afterwards and by another process, so that it does not count.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
EOS = "<|endoftext|>"


def vocabulary(file, family, folder):
    sys.path.insert(0, str(ROOT / "tests/python"))
    import hf_files
    ranks = hf_files.read_ranks(pathlib.Path(file))
    eos = {"id": len(ranks), "content": EOS, "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    made = hf_files.file_of_ranks(ranks, family, pairs=False, ignore_merges=True, added_tokens=[eos])
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(made))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": EOS, "clean_up_tokenization_spaces": False}))


def eos_of(tokenizer):
    import tokenizers
    return tokenizers.Tokenizer.from_file(f"{tokenizer}/tokenizer.json").token_to_id(EOS)


def datatrove(source, tokenizer, out):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    path = pathlib.Path(source)
    LocalPipelineExecutor(pipeline=[
        JsonlReader(str(path.parent), glob_pattern=path.name, compression="zstd"),
        DocumentTokenizer(out, tokenizer_name_or_path=f"{tokenizer}/tokenizer.json", eos_token=EOS,
                          shuffle_documents=False),
    ], tasks=1, workers=1, logging_dir=f"{out}/log").run()


def datasets(source, tokenizer, out):
    from datasets import load_dataset
    from tokenizers import Tokenizer
    encoder, eos = Tokenizer.from_file(f"{tokenizer}/tokenizer.json"), eos_of(tokenizer)

    def encode(batch):
        found = encoder.encode_batch_fast(batch["text"], add_special_tokens=False)
        return {"input_ids": [f.ids + [eos] for f in found]}

    rows = load_dataset("json", data_files=source, split="train", cache_dir=f"{out}/cache")
    rows.map(encode, batched=True, remove_columns=rows.column_names).save_to_disk(f"{out}/rows")


def dolma(source, tokenizer, out):
    subprocess.run([f"{sys.prefix}/bin/dolma", "tokens", "--documents", source, "--destination", out,
                    "--tokenizer.name_or_path", f"{tokenizer}/tokenizer.json",
                    "--tokenizer.eos_token_id", str(eos_of(tokenizer)), "--dtype", "uint32", "--processes", "1",
                    "--seed", "1"], check=True)


def megatron(source, tokenizer, out):
    """It reads no zstd: what it is given was decompressed before, and that is not counted."""
    tree = f"{sys.prefix}/Megatron-LM"
    subprocess.run([sys.executable, f"{tree}/tools/preprocess_data.py", "--input", source.removesuffix(".zst"),
                    "--output-prefix", f"{out}/all", "--tokenizer-type", "HuggingFaceTokenizer", "--tokenizer-model",
                    tokenizer, "--append-eod", "--workers", "1"], check=True)


def counts(name, out):
    import numpy
    if name == "datasets":
        from datasets import load_from_disk
        parts = [numpy.concatenate(load_from_disk(f"{out}/rows").with_format("numpy")["input_ids"][:])]
    else:
        pattern, width = {"datatrove": ("*.ds", "<u4"), "dolma": ("*.npy", "<u4"), "megatron": ("*.bin", "<i4")}[name]
        parts = [numpy.fromfile(path, dtype=width) for path in glob.glob(f"{out}/{pattern}")]
    ids, times = numpy.unique(numpy.concatenate(parts), return_counts=True)
    json.dump(list(zip(ids.tolist(), times.tolist())), sys.stdout)


def main(what, *given):
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    {"vocabulary": vocabulary, "counts": counts, "datatrove": datatrove, "datasets": datasets, "dolma": dolma,
     "megatron": megatron}[what](*given)


if __name__ == "__main__":
    main(*sys.argv[1:])

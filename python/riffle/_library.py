"""libriffle through ctypes: the structs and functions of consumer/reader/riffle.h, name by name."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, \
    c_uint32, c_uint64, c_void_p

OK, END, TIMEOUT, ERROR_USAGE, ERROR_MEMORY, ERROR_BROKER, ERROR_DATA, ERROR_EXPIRED, ERROR_LOST = range(9)
START_COMMITTED, START_STEP = 0, 1
LOG_WARNING, LOG_INFO = 1, 2
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
VERSION = (pathlib.Path(__file__).parent / "VERSION").read_text().strip()


class ErrorText(Structure):
    _fields_ = [("code", c_int), ("text", c_char * 1024)]


class Property(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Sized(Structure):
    """Begins with its size, which says which fields this package knows."""

    def __init__(self, *values, **named):
        super().__init__(ctypes.sizeof(self), *values, **named)


class Checkpoint(Sized):
    _fields_ = [("size", c_size_t), ("step", c_uint64), ("schedule", c_uint64), ("choices_step", c_uint64), ("choices", c_uint64)]


class Options(Sized):
    _fields_ = [
        ("size", c_size_t), ("mix", c_char_p), ("bootstrap", c_char_p), ("run", c_char_p), ("rank", c_uint32), ("world", c_uint32),
        ("start", c_int), ("step", c_uint64), ("token_bytes", c_uint32), ("properties", POINTER(Property)),
        ("properties_n", c_size_t), ("commit_every", c_uint64), ("open_timeout_ms", c_int),
        ("ahead_bytes", c_uint64), ("threads", c_uint32), ("schedule", c_uint64), ("uneven", c_uint32),
        ("checkpoint", POINTER(Checkpoint)),
    ]


class SpanOfSequence(Structure):
    _fields_ = [("start", c_uint32), ("source", c_char_p), ("document", c_uint64), ("offset", c_uint64),
                ("keep", c_void_p), ("keep_n", c_size_t)]


class Range(Structure):
    _fields_ = [("start", c_uint32), ("end", c_uint32)]


class Sequence(Structure):
    _fields_ = [
        ("domain", c_void_p), ("domain_index", c_uint32), ("lane", c_uint32), ("partition", c_uint32),
        ("ordinal", c_uint64), ("epoch", c_uint64), ("used", c_uint32), ("spans", c_void_p), ("spans_n", c_size_t),
        ("no_loss", c_void_p), ("no_loss_n", c_size_t),
    ]


class StepOfReader(Structure):
    _fields_ = [
        ("step", c_uint64), ("sequences", c_size_t), ("tokens_each", c_size_t), ("tokens", c_void_p),
        ("sequence", c_void_p), ("lr_scale", c_double), ("phase", c_char_p), ("version", c_uint64),
    ]


class InfoOfReader(Sized):
    _fields_ = [("size", c_size_t), ("lanes", c_uint32), ("lanes_mine", c_uint32), ("global_batch", c_uint32),
                ("sequence_length", c_uint32), ("schedule", c_uint64), ("tokenizer", c_uint64),
                ("lead", c_uint64)]


class RoundsOfMix(Sized):
    _fields_ = [("size", c_size_t), ("draws", c_uint64), ("steps", c_uint64), ("global_batch", c_uint32), ("lanes", c_uint32)]


class ExtentOfMix(Sized):
    _fields_ = [("size", c_size_t), ("steps", c_uint64), ("global_batch", c_uint32), ("lanes", c_uint32), ("sequence_length", c_uint32),
                ("ended", c_uint8), ("uniform", c_uint8)]


class RoundOfStep(Sized):
    _fields_ = [("size", c_size_t), ("epoch_size", c_uint64), ("round", c_uint64), ("draws", c_uint64)]


class PlaceOfReader(Sized):
    _fields_ = [("size", c_size_t), ("step", c_uint64), ("lead", c_uint64), ("lanes", c_size_t), ("offset_next", c_void_p)]


class LossOfDomain(Structure):
    _fields_ = [("domain", c_char_p), ("loss_sum", c_double), ("excess_sum", c_double), ("tokens", c_int64)]


class Targets(Sized):
    _fields_ = [("size", c_size_t), ("input_ids", c_void_p), ("labels", c_void_p), ("position_ids", c_void_p),
                ("document_ids", c_void_p), ("ignored", c_int64), ("mask_boundaries", c_int)]


class ValidationOptions(Sized):
    _fields_ = [("size", c_size_t), ("corpus", c_char_p), ("domain", c_char_p), ("set", c_char_p), ("bootstrap", c_char_p),
                ("properties", POINTER(Property)), ("properties_n", c_size_t), ("token_bytes", c_uint32),
                ("sequences", c_uint32), ("open_timeout_ms", c_int)]


class InfoOfValidation(Sized):
    _fields_ = [("size", c_size_t), ("sequences", c_uint64), ("partitions", c_uint32), ("sequence_length", c_uint32),
                ("tokenizer", c_uint64)]


_E, _S, _P = POINTER(ErrorText), POINTER(StepOfReader), POINTER(PlaceOfReader)
_FUNCTIONS = {
    "riffle_open": (c_int, [POINTER(c_void_p), POINTER(Options), _E]),
    "riffle_close": (None, [c_void_p]),
    "riffle_get_info": (c_int, [c_void_p, POINTER(InfoOfReader)]),
    "riffle_wait_info": (c_int, [c_void_p, c_int, POINTER(InfoOfReader), _E]),
    "riffle_next": (c_int, [c_void_p, c_int, POINTER(_S), _E]),
    "riffle_next_into": (c_int, [c_void_p, c_int, c_void_p, c_size_t, POINTER(_S), _E]),
    "riffle_keep": (c_int, [c_void_p, _S, _E]),
    "riffle_free_step": (None, [_S]),
    "riffle_seek": (c_int, [c_void_p, c_uint64, _E]),
    "riffle_seek_checkpoint": (c_int, [c_void_p, POINTER(Checkpoint), _E]),
    "riffle_find_checkpoint": (c_int, [POINTER(Options), c_uint64, POINTER(Checkpoint), _E]),
    "riffle_check_checkpoint": (c_int, [POINTER(Options), _E]),
    "riffle_position": (c_uint64, [c_void_p]),
    "riffle_metrics": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "riffle_commit": (c_int, [c_void_p, _E]),
    "riffle_commit_async": (c_int, [c_void_p, _E]),
    "riffle_committed": (c_uint64, [c_void_p]),
    "riffle_report": (c_int, [c_void_p, c_uint64, POINTER(LossOfDomain), c_size_t, _E]),
    "riffle_flush": (c_int, [c_void_p, c_int, _E]),
    "riffle_reporter_open": (c_int, [POINTER(c_void_p), POINTER(Options), _E]),
    "riffle_reporter_close": (None, [c_void_p]),
    "riffle_reporter_report": (c_int, [c_void_p, c_uint64, POINTER(LossOfDomain), c_size_t, _E]),
    "riffle_reporter_flush": (c_int, [c_void_p, c_int, _E]),
    "riffle_place": (c_int, [c_void_p, _P]),
    "riffle_progress_open": (c_int, [POINTER(c_void_p), POINTER(Options), _E]),
    "riffle_progress_close": (None, [c_void_p]),
    "riffle_progress_trained": (c_int, [c_void_p, _P, POINTER(LossOfDomain), c_size_t, _E]),
    "riffle_progress_flush": (c_int, [c_void_p, c_int, _E]),
    "riffle_progress_committed": (c_uint64, [c_void_p]),
    "riffle_find_committed": (c_int, [POINTER(Options), POINTER(c_uint64), _E]),
    "riffle_get_round": (c_int, [c_void_p, c_uint64, POINTER(RoundOfStep), _E]),
    "riffle_find_extent": (c_int, [POINTER(Options), POINTER(ExtentOfMix), _E]),
    "riffle_find_rounds": (c_int, [POINTER(Options), POINTER(RoundsOfMix), _E]),
    "riffle_step_targets": (c_int, [_S, c_uint32, POINTER(Targets)]),
    "riffle_validation_open": (c_int, [POINTER(c_void_p), POINTER(ValidationOptions), _E]),
    "riffle_validation_close": (None, [c_void_p]),
    "riffle_validation_get_info": (c_int, [c_void_p, POINTER(InfoOfValidation)]),
    "riffle_validation_next": (c_int, [c_void_p, c_int, POINTER(_S), _E]),
    "riffle_validation_keep": (c_int, [c_void_p, _S, _E]),
    "riffle_version": (c_char_p, []),
    "riffle_set_log": (None, [c_int, LogFunction, c_void_p]),
}


def _load() -> ctypes.CDLL:
    inside = pathlib.Path(__file__).with_name("libriffle.so.0")
    chosen = os.environ.get("RIFFLE_LIBRARY")
    path = chosen or str(inside)
    try:
        loaded = ctypes.CDLL(path)
    except OSError as why:
        built = pathlib.Path(__file__).parents[2] / "build/libriffle.so.0"  # of a checkout
        there = f"{built} is there: set RIFFLE_LIBRARY={built}. " if built.exists() and path != str(built) else ""
        raise ImportError(
            f"libriffle cannot be loaded from {path}{' (from RIFFLE_LIBRARY)' if chosen else ''}: {why}. {there}"
            "The wheel of `make wheel` has it and all that it needs inside; "
            "`pip install ./python` in a checkout of riffle builds it against the system's librdkafka, avro, zstd and xxhash; "
            "RIFFLE_LIBRARY names one that is built") from None
    loaded.riffle_version.restype = c_char_p
    version = loaded.riffle_version().decode()
    if version != VERSION:
        raise ImportError(
            f"{path}{' (from RIFFLE_LIBRARY)' if chosen else ''} is libriffle {version}, but the package in {inside.parent} is for {VERSION}. "
            + (f"Set RIFFLE_LIBRARY to libriffle {VERSION}, or unset it" if chosen else "Install both again from one version"))
    for name, (result, arguments) in _FUNCTIONS.items():  # another version may lack some
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


lib = _load()

#include "common/record/token_format.h"

#include <stddef.h>

const char *const token_format_names[] = {[TOKEN_FORMAT_NONE] = "none",
    [TOKEN_FORMAT_JSONL] = "jsonl",
    [TOKEN_FORMAT_MEGATRON] = "megatron",
    [TOKEN_FORMAT_DS] = "ds",
    [TOKEN_FORMAT_NPY] = "npy",
    [TOKEN_FORMAT_LLMC] = "llmc",
    NULL};

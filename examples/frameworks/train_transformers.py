"""A mix in transformers' Trainer: [torchrun --nproc-per-node 2] train_transformers.py MIX BOOTSTRAP [STEPS].

A run that was killed continues from its last checkpoint, with another number of processes, too.
"""

import os
import pathlib
import sys

from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

from riffle.integrations.transformers import Trainer


def main(mix, bootstrap, steps=24, kind=Trainer, run="trainers", **more):
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    set_seed(1)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        attention_dropout=0.1, use_cache=False))
    arguments = TrainingArguments(
        output_dir="checkpoints", max_steps=int(steps), save_steps=4, logging_steps=4, report_to=[], disable_tqdm=True,
        use_cpu=True, ddp_backend="gloo" if ranks > 1 else None,
        per_device_train_batch_size=4, gradient_accumulation_steps=4 // ranks, **more)  # 4 x 4 = global_batch
    trainer = kind(model=model, args=arguments, riffle={"mix": mix, "bootstrap": bootstrap, "run": run, "timeout": 120})
    found = get_last_checkpoint("checkpoints") if pathlib.Path("checkpoints").exists() else None
    trainer.train(resume_from_checkpoint=found)
    return trainer


if __name__ == "__main__":
    main(*sys.argv[1:])

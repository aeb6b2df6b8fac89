"""A mix in OLMo-core: [torchrun ...] train_olmo_core.py MIX BOOTSTRAP [STEPS]. A run that was killed continues where its
checkpoint is, at any number of ranks."""

import sys

import torch
from olmo_core.config import DType
from olmo_core.nn.transformer import TransformerConfig
from olmo_core.optim import AdamWConfig, CosWithWarmup
from olmo_core.train import Duration, TrainerConfig, prepare_training_environment, teardown_training_environment
from olmo_core.train.callbacks import CheckpointerCallback
from olmo_core.train.train_module import TransformerDataParallelConfig, TransformerTrainModuleConfig
from olmo_core.distributed.utils import is_distributed

from riffle.integrations.olmo_core import DataLoader, RiffleCallback

VOCABULARY, LENGTH = 512, 64


def main(mix, bootstrap, steps=24, data=DataLoader, wrap=lambda module: module, **options):
    prepare_training_environment(seed=1, backend=None if torch.cuda.is_available() else "gloo")
    model = TransformerConfig.llama_like(d_model=32, vocab_size=VOCABULARY, n_layers=2, n_heads=2, dtype=DType.float32)
    module = wrap(TransformerTrainModuleConfig(
        rank_microbatch_size=4 * LENGTH, max_sequence_length=LENGTH, optim=AdamWConfig(lr=1e-3),
        scheduler=CosWithWarmup(warmup=4), dp_config=TransformerDataParallelConfig(name="ddp") if is_distributed() else None,
    ).build(model.build(init_device="cpu")))
    # documents=True where flash attention is installed: attention then stays inside of each document
    loader = data(mix, bootstrap, work_dir="work", dp_process_group=module.dp_process_group, documents=False, **options)
    TrainerConfig(
        save_folder="checkpoints", max_duration=Duration.steps(int(steps)), metrics_collect_interval=1,
    ).with_callback("riffle", RiffleCallback()).with_callback(
        "checkpointer", CheckpointerCallback(save_interval=4)).build(module, loader).fit()
    teardown_training_environment()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A mix in torchtitan: torchrun train_torchtitan.py MIX BOOTSTRAP [STEPS]. A run that was killed continues where its
checkpoint is. A config registry of your own, for torchtitan.train, returns the same Config."""

import sys

from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw
from torchtitan.config import TrainingConfig
from torchtitan.models.common.config_utils import decoder_vocab_size
from torchtitan.models.llama3 import model_registry

from riffle.integrations.torchtitan import FLAT, DataLoader, Trainer

LENGTH, MICRO, BATCH = 64, 4, 16
if FLAT:  # main since August 2026
    SIZES = {"max_context_length": LENGTH, "num_tokens_per_microbatch_per_dp_rank": MICRO * LENGTH,
             "num_tokens_per_train_step": BATCH * LENGTH}
else:
    SIZES = {"seq_len": LENGTH, "local_batch_size": MICRO, "global_batch_size": BATCH}


def main(mix, bootstrap, steps=24, model=None, trainer=Trainer, **options):
    config = trainer.Config(
        model_spec=model or model_registry("debugmodel"),
        loss=CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(model or model_registry("debugmodel"))),
        optimizer=default_adamw(lr=1e-3), lr_scheduler=LRSchedulersContainer.Config(warmup_steps=4),
        training=TrainingConfig(steps=int(steps), disable_cuda_graphs=True, **SIZES),
        dataloader=DataLoader.Config(mix=mix, bootstrap=bootstrap, **options))
    config.debug.seed = 1
    config.checkpoint.enable, config.checkpoint.interval, config.checkpoint.last_save_model_only = True, 4, False
    made = config.build()
    made.train()
    made.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

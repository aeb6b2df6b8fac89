"""A mix in Megatron-Bridge: MIX=pretrain BOOTSTRAP=kafka:9092 torchrun ... train_megatron_bridge.py. The recipe is Bridge's own;
the mix's global_batch and sequence_length are to be its. It continues from its checkpoint, with any number of data-parallel ranks.
"""

import os

from megatron.bridge.recipes.llama import llama32_1b_pretrain_config
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain

from riffle.integrations.megatron_bridge import DatasetProvider, RiffleCallback


def main():
    config = llama32_1b_pretrain_config()
    config.train.global_batch_size, config.train.micro_batch_size = 512, 1  # the mix's global_batch
    config.dataset = DatasetProvider(
        mix=os.environ["MIX"], bootstrap=os.environ["BOOTSTRAP"], run=os.environ.get("RUN", "trainers"),
        seq_length=config.model.seq_length, reset_position_ids=True, eod_mask_loss=True)
    config.checkpoint.save = config.checkpoint.load = "checkpoints"
    pretrain(config, config.dataset.forward_step(forward_step), callbacks=[RiffleCallback()])


if __name__ == "__main__":
    main()

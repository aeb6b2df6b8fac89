"""A mix in verl's trainer for supervised fine-tuning: torchrun ... train_verl_sft.py
    data.custom_cls.path=pkg://riffle.integrations.verl data.custom_cls.name=SFTDataset
    data.train_files=riffle:chats data.train_batch_size=64 data.num_workers=1 trainer.total_epochs=1
    +data.riffle.bootstrap=kafka:9092 +data.riffle.steps=1000 model.path=... trainer.save_freq=100
with the mix's global_batch as train_batch_size. Its sampler shuffles, and has no switch: the mixin puts another in its place.
A run that was killed continues where its checkpoint is, with the same number of data-parallel ranks.
"""

import hydra
from verl.trainer import sft_trainer
from verl.utils.device import auto_set_device

from riffle.integrations.verl import SFTMixin


class Trainer(SFTMixin, sft_trainer.SFTTrainer):
    pass


@hydra.main(config_path="pkg://verl.trainer.config", config_name="sft_trainer_engine", version_base=None)
def main(config):
    auto_set_device(config)
    sft_trainer.SFTTrainer = Trainer
    sft_trainer.run_sft(config)


if __name__ == "__main__":
    main()

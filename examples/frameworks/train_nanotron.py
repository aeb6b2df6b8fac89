"""A mix in Nanotron, in place of its run_train.py: torchrun ... train_nanotron.py MIX BOOTSTRAP CONFIG.yaml [RUN].

tokens.micro_batch_size x batch_accumulation_per_replica x data-parallel ranks is the mix's global_batch, tokens.sequence_length its
sequence_length; set the sequence_length of each stage, too. It continues where its checkpoint (checkpoints.resume_checkpoint_path)
is, with any number of data-parallel ranks.
"""

import sys

from nanotron.trainer import DistributedTrainer

from riffle.integrations.nanotron import DataLoader


def main(mix, bootstrap, config, run="trainers"):
    trainer = DistributedTrainer(config)
    trainer.train({stage.name: lambda: DataLoader(trainer, mix, bootstrap, run=run) for stage in trainer.config.data_stages})
    trainer.riffle.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A mix in Megatron-LM (core_v0.16), beside its pretrain_gpt.py:

MIX=pretrain BOOTSTRAP=kafka:9092 torchrun ... train_megatron.py --dataloader-type external --global-batch-size 1024 ...

with pretrain_gpt.py's own options, and the mix's global_batch. With --load it continues where the checkpoint is, with any number
of data-parallel ranks.
"""

import os
from functools import partial

import riffle
from gpt_builders import gpt_builder
from megatron.core.enums import ModelType
from megatron.training import pretrain, training
from model_provider import model_provider
from pretrain_gpt import forward_step
from riffle.integrations.megatron import DataIterators

mix, bootstrap = os.environ["MIX"], os.environ["BOOTSTRAP"]
held_out = [riffle.Validation(*name.split("."), bootstrap) for name in os.environ.get("VALID", "").split()]  # CORPUS.DOMAIN
data = DataIterators(mix, bootstrap, run=os.environ.get("RUN", "trainers"), valid=held_out)

if __name__ == "__main__":
    training.train_step = data.train_step(training.train_step)  # lr_scale in the optimiser's step; commits behind it
    pretrain(data.provider, partial(model_provider, gpt_builder), ModelType.encoder_or_decoder, data.forward_step(forward_step),
             args_defaults={"tokenizer_type": "GPT2BPETokenizer"})

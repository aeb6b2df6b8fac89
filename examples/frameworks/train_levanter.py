"""A mix in Levanter: python train_levanter.py MIX BOOTSTRAP [STEPS]. A run that was killed continues where its checkpoint is."""

import datetime
import sys

import haliax as hax
import jax
import optax
from levanter.checkpoint import CheckpointerConfig
from levanter.models.gpt2 import Gpt2Config
from levanter.tracker.tracker import NoopConfig
from levanter.trainer import Trainer, TrainerConfig, initialize

from riffle.integrations.levanter import AsyncDataset


def main(mix, bootstrap, steps=24, timed=iter, hook=lambda info: None, **options):
    model = Gpt2Config(max_seq_len=65, hidden_dim=32, num_layers=2, num_heads=2, gradient_checkpointing=False)  # S + 1
    config = TrainerConfig(
        id="riffle", num_train_steps=int(steps), train_batch_size=16, tracker=NoopConfig(), require_accelerator=False,
        checkpointer=CheckpointerConfig("checkpoints", save_interval=datetime.timedelta(days=1), keep=[{"every": 4}]))
    initialize(config)
    data = AsyncDataset(mix, bootstrap, Pos=model.max_Pos, trainer=config, **options)
    optimizer = optax.chain(optax.adamw(1e-3), data.lr_scale())
    with Trainer(config, optimizer, lambda model, example, key=None: model.compute_next_token_loss(example, key=key)) as trainer:
        state = trainer.initial_state(
            jax.random.PRNGKey(1), model_init=lambda: model.build(hax.Axis("vocab", 512), key=jax.random.PRNGKey(2)))
        trainer.add_hook(data.on_step, every=1)  # commits
        trainer.add_hook(hook, every=1)
        trainer.train(state, timed(trainer.data_loader(data).iter_from_step(state.step)))
    data.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

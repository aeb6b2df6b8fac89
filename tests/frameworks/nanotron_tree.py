"""Nanotron's modules that need no GPU, from its source: its package is older.

It imports flash attention wherever it is imported, so that has a stand-in here: nothing of it is called.
"""

import importlib.machinery
import sys
import types
from types import SimpleNamespace

import job

MISSING = ("flash_attn", "ring_flash_attn", "grouped_gemm")


class _Absent(types.ModuleType):
    __path__: list = []
    __version__ = "2.7.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=True) if name.split(".")[0] in MISSING else None

    @staticmethod
    def create_module(spec):
        return _Absent(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def use():
    """`import nanotron...` works from here on."""
    sys.meta_path.insert(0, _Finder)
    sys.path.insert(0, str(job.source("nanotron") / "src"))
    import warnings
    warnings.simplefilter("ignore")


def trainer_of(metadata=None, dp=None, **more):
    """What a DataLoader asks of a DistributedTrainer, with groups of torch.distributed, and its metadata as it makes them."""
    import torch.distributed
    from nanotron.serialize.metadata import DataStageMetadata, TrainingMetadata
    alone = [torch.distributed.new_group([r]) for r in range(torch.distributed.get_world_size())][torch.distributed.get_rank()]
    dp = dp or alone
    world, batch, each = torch.distributed.get_world_size(dp), 16, 4
    context = SimpleNamespace(dp_pg=dp, tp_pg=alone, pp_pg=alone, cp_pg=alone, context_parallel_size=1,
                              world_pg=torch.distributed.group.WORLD)
    metadata = metadata or TrainingMetadata(
        consumed_train_samples=0, consumed_tokens_total=0, last_train_step=0, last_stage_idx=0, data_stages=[
            DataStageMetadata(name="stable", start_training_step=1, consumed_train_samples=0, sequence_length=64)])
    return SimpleNamespace(**{
        "parallel_context": context, "model": SimpleNamespace(input_pp_rank=0, output_pp_rank=0), "metadata": metadata,
        "micro_batch_size": each, "n_micro_batches_per_batch": batch // each // world, "global_batch_size": batch,
        "sequence_length": 64, "optimizer": None, **more})


def behind_step(trainer, loader):
    """What DistributedTrainer.train() does behind a step, in its order."""
    metadata = trainer.metadata
    if hasattr(loader, "dataset"):
        stage = metadata.data_stages[metadata.last_stage_idx]
        for folder, stats in loader.dataset.get_consumption_stats().items():
            stage.consumed_tokens_per_dataset_folder[folder] = stats["tokens"]
    metadata.consumed_train_samples += trainer.global_batch_size
    metadata.consumed_tokens_total += trainer.global_batch_size * trainer.sequence_length
    metadata.last_train_step += 1
    metadata.current_stage.consumed_train_samples += trainer.global_batch_size

"""A training loop of Megatron-core on a CPU: MIX BOOTSTRAP STEPS TENSOR_PARALLEL PIPELINE_PARALLEL. It continues from its
checkpoint."""

import json
import os
import pathlib
import sys
import warnings
from types import SimpleNamespace

import on_cpu  # noqa: F401, first
import torch

import job

warnings.simplefilter("ignore")  # of parts that are not installed
from megatron.core import parallel_state as groups, tensor_parallel  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.rerun_state_machine import RerunDataIterator  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

from riffle.integrations.megatron import DataIterators  # noqa: E402


def forward_step(iterator, model):
    item = None if iterator is None else next(iterator)  # tensor-parallel rank 0 reads, of the first and the last stage
    batch = tensor_parallel.broadcast_data(["tokens", "labels", "position_ids"], item, torch.int64)
    batch.update(tensor_parallel.broadcast_data(["loss_mask"], item, torch.float32))
    batch.update(tensor_parallel.broadcast_data(["attention_mask"], item, torch.bool))
    job.saw(args.consumed_train_samples // args.global_batch_size, *batch.values())  # on each tensor-parallel rank
    output = model(batch["tokens"], batch["position_ids"], batch["attention_mask"], labels=batch["labels"])

    def loss_func(losses):
        loss = (losses * batch["loss_mask"]).sum() / batch["loss_mask"].sum()
        return loss, {"lm loss": loss.detach().clone()}
    last.update(batch)
    return output, loss_func


mix, bootstrap, steps, tensor, pipeline = sys.argv[1:]
for name, value in (("RANK", "0"), ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
torch.distributed.init_process_group("gloo")
groups.initialize_model_parallel(int(tensor), int(pipeline))
torch.manual_seed(1)  # as megatron.training does: weights are drawn on the CPU, and its generator has another seed in each process
tensor_parallel.model_parallel_cuda_manual_seed(1)
config = TransformerConfig(num_layers=2, hidden_size=32, num_attention_heads=4, use_cpu_initialization=True, hidden_dropout=0.0,
                           attention_dropout=0.0, tensor_model_parallel_size=int(tensor),
                           pipeline_model_parallel_size=int(pipeline), pipeline_dtype=torch.float32)
bare = GPTModel(config, get_gpt_layer_local_spec(), 512, 64, position_embedding_type="rope",
                pre_process=groups.is_pipeline_first_stage(), post_process=groups.is_pipeline_last_stage())
model = DistributedDataParallel(config, DistributedDataParallelConfig(), bare)
optimizer = get_megatron_optimizer(OptimizerConfig(lr=1e-3, clip_grad=0.0), [model])
args = SimpleNamespace(global_batch_size=16, micro_batch_size=4, seq_length=64, consumed_train_samples=0,
                       reset_position_ids=True, reset_attention_mask=True, create_attention_mask_in_dataloader=True)
latest = pathlib.Path("checkpoints/latest_checkpointed_iteration.txt")
# as --ckpt-format torch
part = f"mp_rank_{groups.get_tensor_model_parallel_rank():02d}_{groups.get_pipeline_model_parallel_rank():03d}/model_optim_rng.pt"
if latest.exists():
    found = torch.load(latest.parent / f"iter_{int(latest.read_text()):07d}" / part, weights_only=False)
    bare.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    args = found["args"]
data, last = DataIterators(mix, bootstrap, run=job.folder().name, timeout=600), {}
iterator = RerunDataIterator(iter(job.timed(data.iterators(args)[0]))) if groups.get_tensor_model_parallel_rank() == 0 else None
data.scale(optimizer)
job.follow_rate(optimizer.optimizer)
for step in range(args.consumed_train_samples // args.global_batch_size, int(steps)):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    found = get_forward_backward_func()(
        forward_step_func=data.forward_step(forward_step), data_iterator=iterator, model=model, forward_only=False,
        num_microbatches=args.global_batch_size // args.micro_batch_size // groups.get_data_parallel_world_size(),
        seq_length=args.seq_length, micro_batch_size=args.micro_batch_size)
    finalize_model_grads([model])
    optimizer.step()
    data.trained()
    args.consumed_train_samples += args.global_batch_size
    job.trained(step, found[-1]["lm loss"] if found else None)  # of the last stage
    if (step + 1) % 4 == 0:
        path = latest.parent / f"iter_{step + 1:07d}" / part
        if groups.get_data_parallel_rank() == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"model": bare.state_dict(), "optimizer": optimizer.state_dict(), "args": args}, path)
        torch.distributed.barrier()
        if torch.distributed.get_rank() == 0:
            latest.write_text(str(step + 1))
if data.train is not None:
    data.train.close()
if int(tensor) == int(pipeline) == 1:  # what the mask does to the losses
    causal = torch.ones(last["attention_mask"].shape, dtype=torch.bool).triu(1)
    with torch.no_grad():
        with_mask, without = (bare(last["tokens"], last["position_ids"], mask, labels=last["labels"])
                              for mask in (last["attention_mask"], causal))
    (job.folder() / "masked.json").write_text(json.dumps(float((with_mask - without).abs().max())))

"""OLMo-core's Trainer with riffle's DataLoader."""

import importlib
import importlib.metadata
import itertools
import pathlib
import shutil

import pytest
import torch
from olmo_core.data.utils import get_cumulative_document_lengths
from olmo_core.exceptions import OLMoConfigurationError
from olmo_core.nn.transformer import TransformerConfig

import job

PROGRAM = pathlib.Path(__file__).with_name("run_olmo_core.py")
VERSION, MODEL = importlib.metadata.version("ai2-olmo-core"), "llama_like, 2 layers, width 32"


@pytest.mark.timeout(1800)  # five processes import it, 10 s of a core each
def test_a_killed_training_sees_what_an_undisturbed_one_sees_at_any_number_of_ranks(mix, package, examples, row, tmp_path):
    m = mix(steps=24)
    words = PROGRAM, examples, m.name, m.bootstrap, 24
    calm = job.Run(tmp_path / "calm", package.env)(*words)
    assert list(calm.steps) == list(range(24)) and {len(micros) for micros in calm.parts[0].values()} == {4}
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert calm.rates()[4] > 0.00099 and calm.rates()[5] == pytest.approx(calm.rates()[4] / 2, rel=0.05)
    one, elastic = (job.Run(tmp_path / name, package.env) for name in ("one", "elastic"))
    one(*words, kill=13)
    shutil.copytree(one.path, elastic.path, dirs_exist_ok=True)
    elastic.killed = 13
    one(*words)
    elastic(*words, world=2)
    for name, run, ranks in (("1", one, "1"), ("1-2", elastic, "1, then 2")):
        assert run.steps == calm.steps
        assert run.resumed[0] in (4, 8, 12)  # checkpoints are written asynchronously
        row(version=VERSION, model=MODEL, calm=calm, stormy=run, ranks=ranks, name=name,
            missing="document masks: flash attention has none for a CPU")
    assert one.losses == calm.losses


@pytest.fixture
def loader(mix, package, tmp_path):
    """loader(**options) -> riffle's DataLoader on a mix of 4 steps."""
    assert package.riffle
    adapter = importlib.import_module("riffle.integrations.olmo_core")
    m = mix(steps=4)

    def make(**options):
        made = adapter.DataLoader(m.name, m.bootstrap, work_dir=tmp_path, timeout=60, **options)
        made.mix = m
        return made
    return make


def test_documents_are_what_olmo_core_masks_by(loader):
    data = loader(step=0, vocabulary=512)
    items = importlib.import_module("riffle.torch").Dataset(data.mix.name, data.mix.bootstrap, step=0, timeout=60)
    data.reshuffle(1)
    documents = 0
    for batch, item in zip(itertools.islice(data, 4), items):
        starts = torch.nonzero(item["position_ids"].flatten() == 0).flatten().tolist()
        assert get_cumulative_document_lengths(batch["doc_lens"]).tolist() == starts + [16 * 64]
        assert batch["doc_lens"].dtype == torch.int32 and batch["max_doc_lens"] == batch["doc_lens"].amax(1).tolist()
        documents += len(starts)
    assert documents > 4 * 16  # some sequences have several
    mock = data.get_mock_batch()
    assert mock["input_ids"].shape == (16, 64) and mock["input_ids"].max() < 512
    # What a CPU has attends across documents, and says so. Where that changes, run_olmo_core.py can have masks.
    model = TransformerConfig.llama_like(d_model=32, vocab_size=512, n_layers=1, n_heads=2).build(init_device="cpu")
    model.init_weights(max_seq_len=64, device=torch.device("cpu"))
    with pytest.raises(RuntimeError, match="doesn't support intra-document masking"):
        model(mock.pop("input_ids"), **mock)


def test_a_batch_that_the_trainer_would_change_is_refused(loader):
    data = loader()
    assert data.global_batch_size == 16 * 64 and data.total_batches is None
    data.global_batch_size = 16 * 64
    with pytest.raises(OLMoConfigurationError, match="leave BatchSizeSchedulerCallback out"):
        data.global_batch_size = 32 * 64
    with pytest.raises(OLMoConfigurationError, match="checkpoint is of another data loader"):
        data.load_state_dict({"dataset_type": "fsl", "epoch": 1})


def test_what_olmo_core_knows_is_no_option(loader, package):
    with pytest.raises(package.riffle.UsageError, match="micro_batch is OLMo-core's"):
        loader(micro_batch=4)

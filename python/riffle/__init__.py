"""riffle: reads mixes of tokenized training data from Kafka.

    reader = riffle.Reader("pretrain", "localhost:9092", rank=0, world=8)
    for step in reader:
        step.tokens       # uint32 [n, S + 1], no copy
        step.domains      # [n] names
        reader.commit(wait=False)

What the library logs goes to Python's logging, logger "riffle"; to stderr where that has no handler.

For PyTorch see riffle.torch.Dataset, which is imported by itself (`import riffle.torch`).
"""

from ._optional import needs

with needs(__name__):
    import numpy as _numpy  # noqa: F401  which the modules below need

from . import _handle, log
from ._library import VERSION
from .doremi import DoReMi, domain_sums
from .errors import BrokerError, DataError, ExpiredError, LostError, RiffleError, StepTimeout, UsageError
from .metrics import MetricsServer, metrics, serve_metrics
from .odm import ODM
from .progress import Place, Progress
from .reader import Extent, Info, Reader, Reporter, Rounds, committed_step, find_extent, find_rounds
from .sequences import Sequences
from .spikes import Spike, Spikes, skip_on_spike
from .step import Span, Step, Targets, cu_seqlens
from .times import step_at_time
from .validation import Validation

__version__ = VERSION
log.start()
_handle.start()  # so that handles end before the log does
__all__ = [
    "BrokerError", "DataError", "DoReMi", "ExpiredError", "Extent", "Info", "LostError", "MetricsServer", "ODM", "Place",
    "Progress", "Reader", "Reporter", "RiffleError", "Rounds",
    "Sequences", "Span", "Spike", "Spikes", "Step", "StepTimeout", "Targets", "UsageError", "Validation", "committed_step",
    "cu_seqlens", "domain_sums", "find_extent", "find_rounds", "metrics", "serve_metrics", "skip_on_spike",
    "step_at_time",
]

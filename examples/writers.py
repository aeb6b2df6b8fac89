"""writers: a training's losses and shares, domain by domain, for TensorBoard or Weights & Biases.

    log = writers.TensorBoard("runs/big")              # or writers.Wandb("my-project", name="big"): on rank 0; else None
    for item in dataset:
        ...
        sums = riffle.domain_sums(losses, item["domains"], mask=item["labels"] != -100)
        dataset.trained(item["step"], sums)
        values = writers.values_of(item, sums)         # on every rank: they add up
        if log:
            log.write(item["step"], values)

Values of a step: loss/all, loss/DOMAIN in nats a token; share/DOMAIN of the sequences; lr_scale. (`riffle status -c run.yml
--json` has losses, shares and lags without a hook in the training.) Needs torch and tensorboard, or wandb, where the class is used.
"""

from riffle.doremi import all_reduced


def values_of(item, sums, domains=None):
    """{name: value} of a step. With several ranks `domains` names all of the mix, in the same order on each."""
    names = sorted(domains or set(item["domains"]) | set(sums))
    mine = [number for d in names for number in (*sums.get(d, (0.0, 0.0, 0))[::2], item["domains"].count(d))]
    total = all_reduced(mine)
    loss, tokens, drawn = total[::3], total[1::3], total[2::3]
    found = {"lr_scale": item["lr_scale"], **{f"share/{d}": n / sum(drawn) for d, n in zip(names, drawn)}}
    found.update({f"loss/{d}": s / n for d, s, n in zip(names, loss, tokens) if n > 0})
    if sum(tokens) > 0:
        found["loss/all"] = sum(loss) / sum(tokens)
    return found


class TensorBoard:
    """Event files in `folder`. A resumed run leaves out what it writes again: purge_step is its first step."""

    def __init__(self, folder, purge_step=None):
        from torch.utils.tensorboard import SummaryWriter
        self.writer = SummaryWriter(str(folder), purge_step=purge_step)

    def write(self, step, values):
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self):
        self.writer.close()


class Wandb:
    """A run of `project`; `more` goes to wandb.init(), as name=, id= and resume="allow" where it is to be resumed."""

    def __init__(self, project, **more):
        import wandb
        self.run = wandb.init(project=project, **more)

    def write(self, step, values):
        self.run.log(values, step=step)

    def close(self):
        self.run.finish()

"""A mix in KempnerForge: [torchrun ...] train_kempnerforge.py FOLDER CONFIG --data.dataset_path=riffle:MIX/RUN [OPTIONS...].

FOLDER is its source. Its scripts/train.py has no hook for data: it runs here with these branches (main of June 2026). To keep
them put them in there. $RIFFLE_BOOTSTRAP names the broker; a run that was killed continues where its checkpoint is.
"""

import pathlib
import sys

LOADER = """\
    elif config.data.dataset_path.startswith("riffle:"):
        from riffle.integrations.kempnerforge import make_loader

        dataloader = make_loader(config, optimizer, rank=dp_rank, world=dp_size)
"""
LOSSES = """\
                    if hasattr(dataloader, "add"):  # the losses of tokens, for the means by domain
                        with torch.no_grad():
                            dataloader.add(torch.nn.functional.cross_entropy(
                                logits.flatten(0, 1).float(), labels.flatten(), reduction="none"), labels)
"""
TRAINED = """\
        if hasattr(dataloader, "trained"):  # also where the update is left out: the step is used up
            dataloader.trained()
"""
BRANCHES = (("    elif config.data.dataset_path:\n", LOADER + "{}"),  # {}: the line itself
            ("                    loss = loss_fn(logits, labels)\n", "{}" + LOSSES),
            ("        # NaN check\n", TRAINED + "{}"))


if __name__ == "__main__":
    script = pathlib.Path(sys.argv.pop(1)) / "scripts/train.py"
    source = script.read_text()
    for line, branch in BRANCHES:
        assert source.count(line) == 1, f"{script} has no line of its own {line!r}"
        source = source.replace(line, branch.replace("{}", line))
    sys.path.insert(0, str(script.parent.parent))
    exec(compile(source, script, "exec"), {"__name__": "__main__", "__file__": str(script)})

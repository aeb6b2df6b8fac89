"""PaLM's remedy for a spike of the loss, in a loop of a few lines: see riffle.Spikes.

    python examples/spikes.py MIX [BOOTSTRAP] [--steps N] [--spike-at STEP] [--config run.yml]

The model is a number here; a real loop has train(), and checkpoints of model, optimiser, reader and spikes.
"""

import argparse

import riffle


def train(model, step, spike_at):
    """The mean loss over all ranks: each rank must have the same number."""
    return 100.0 if step.step == spike_at else 3.0 + (step.step * 7919 % 101) / 1000 / (1 + model)


def main():
    p = argparse.ArgumentParser(description="a training loop that goes back on a spike of the loss")
    p.add_argument("mix")
    p.add_argument("bootstrap", nargs="?")
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--spike-at", type=int)
    p.add_argument("--config")
    a = p.parse_args()
    spikes, model, checkpoints = riffle.Spikes(), 0, {}
    with riffle.Reader(a.mix, a.bootstrap, timeout=60) as reader:
        checkpoints[reader.position] = (model, reader.state_dict(), spikes.state_dict())
        while reader.position < a.steps:
            step, spike = next(reader), None
            if not spikes.passes(step.step):  # else it is left out, because of a spike before it
                loss = train(model, step, a.spike_at)
                model += 1
                spike = riffle.skip_on_spike(reader, loss, spikes, checkpoints=checkpoints, config=a.config)
            reader.trained(step.step)
            if spike:
                if spike.checkpoint is not None:
                    model = checkpoints[spike.checkpoint][0]  # neither the reader nor the spikes go back
                print(f"spike at step {spike.step}: back to the model of step {spike.checkpoint}, on from {spike.resume}")
            if spike or reader.position % 100 == 0:
                checkpoints[reader.position] = (model, reader.state_dict(), spikes.state_dict())
        reader.flush()
    print(f"trained on {model} steps of {a.steps}")


if __name__ == "__main__":
    main()

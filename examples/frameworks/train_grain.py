"""A mix in Grain and JAX, with MaxText's keys: python train_grain.py MIX BOOTSTRAP [STEPS]. A killed run continues."""
import os, pathlib, pickle, sys

import absl.flags, grain, jax, jax.numpy as jnp, numpy as np
import riffle
from riffle.integrations.grain import IterDataset, maxtext

def losses_of(model, item):
    same = item["inputs_segmentation"][:, :, None] == item["inputs_segmentation"][:, None, :]
    x = model["in"][item["inputs"]]
    seen = jnp.where(same & jnp.tril(jnp.ones(same.shape[1:], bool)), x @ x.swapaxes(1, 2), -1e9)
    logits = jax.nn.log_softmax(jax.nn.softmax(seen) @ x @ model["out"])
    return -jnp.take_along_axis(logits, item["targets"][..., None], 2)[..., 0] * (item["targets_segmentation"] != 0)

@jax.jit
def update(model, item, rate):
    mean = lambda m: ((each := losses_of(m, item)).sum() / (item["targets_segmentation"] != 0).sum(), each)
    (loss, each), slope = jax.value_and_grad(mean, has_aux=True)(model)
    return jax.tree.map(lambda m, s: m - rate * s, model, slope), loss, each

def main(mix, bootstrap, steps=24, ahead=lambda d: d.mp_prefetch(grain.MultiprocessingOptions(1)), timed=iter, saw=None, **more):
    absl.flags.FLAGS.mark_as_parsed()  # or Grain starts no processes; absl.app.run() does it, too
    about = lambda s: {**maxtext(s), "step": s.step, "rate": 0.1 * s.lr_scale, "domains": np.array(s.domains)}
    data, saved = IterDataset(mix, bootstrap, element=about, steps=int(steps), **more), pathlib.Path("checkpoint")
    shapes, items = {"in": (512, 16), "out": (16, 512)}, iter(ahead(data))
    model = {name: jax.random.normal(jax.random.PRNGKey(i), shapes[name]) for i, name in enumerate(shapes)}
    if saved.exists():
        model, state = pickle.loads(saved.read_bytes())
        items.set_state(state)
    for item in timed(items):
        step, rate, domains = item.pop("step"), item.pop("rate"), item.pop("domains").tolist()
        model, loss, each = update(model, item, rate)
        (saw or print)(step, loss, *([item] if saw else []))
        data.trained(step, riffle.domain_sums(np.asarray(each), domains, mask=item["targets_segmentation"] != 0))  # commits
        if step % 4 == 3:
            pathlib.Path("part").write_bytes(pickle.dumps((jax.device_get(model), items.get_state())))
            os.replace("part", saved)
    data.close()
if __name__ == "__main__":
    main(*sys.argv[1:])

"""riffle.torch.LrScale: an optimiser's rates inside its step, and what all others see of them."""

import types

import pytest
import torch


def make(rate=0.1):
    parameters = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))]
    return parameters, torch.optim.SGD([{"params": parameters[:1], "lr": rate}, {"params": parameters[1:], "lr": 0.01}])


def step(parameters, optimizer):
    for p in parameters:
        p.grad = torch.ones_like(p)
    before = [p.detach().clone() for p in parameters]
    optimizer.step()
    return [round((b - p).mean().item(), 6) for b, p in zip(before, parameters)]


@pytest.mark.parametrize("rate", [0.1, torch.tensor(0.1)])
def test_rates_are_multiplied_inside_the_step_alone(riffle_torch, rate):
    parameters, optimizer = make(rate)
    scale = riffle_torch.LrScale(optimizer)
    assert step(parameters, optimizer) == [0.1, 0.01]
    scale.factor = 0.5
    for _ in range(3):
        assert step(parameters, optimizer) == [0.05, 0.005]
        assert [float(g["lr"]) for g in optimizer.param_groups] == pytest.approx([0.1, 0.01])
        assert optimizer.param_groups[0]["lr"] is rate
    scale.close()
    assert step(parameters, optimizer) == [0.1, 0.01]


def test_a_schedule_that_multiplies_what_it_finds_is_not_disturbed(riffle_torch):
    parameters, optimizer = make()
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    scale = riffle_torch.LrScale(optimizer, 0.1)
    for n in range(4):
        assert step(parameters, optimizer)[0] == pytest.approx(0.01 * 0.5**n, rel=1e-4)
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * 0.5**4)
    assert scale.optimizer is optimizer


def test_what_a_framework_has_wrapped_is_found(riffle_torch, package):
    parameters, optimizer = make()
    scale = riffle_torch.LrScale(types.SimpleNamespace(optimizer=types.SimpleNamespace(optimizer=optimizer)), 0.5)
    assert scale.optimizer is optimizer and step(parameters, optimizer) == [0.05, 0.005]
    with pytest.raises(package.riffle.UsageError, match="lr_scale: int is no optimiser of torch"):
        riffle_torch.LrScale(3)

"""Packages that one module of riffle needs and the others do not."""

from __future__ import annotations

import contextlib
from typing import Iterator

__all__ = ["needs"]


@contextlib.contextmanager
def needs(module: str, install: str = "") -> Iterator[None]:
    """The imports of a module that need more than numpy: a missing package is an ImportError with the command that installs it.

        with needs(__name__):
            import torch

    install: what `pip install` is to be given; "": the name of the missing package. A missing part of a package that is there,
    as in another version of it, stays what it is.
    """
    try:
        yield
    except ModuleNotFoundError as why:
        name, _, part = (why.name or "").partition(".")
        if part and not install:
            raise
        raise ModuleNotFoundError(f"{module} needs the Python package {why.name}: pip install {install or name}",
                                  name=why.name) from None

"""Adapters for training frameworks, one file each. A framework is imported by its adapter alone, and is no dependency of
riffle. docs/TRAINERS.md shows each; examples/frameworks has what a user copies. What they share: dataset.py, loader.py."""

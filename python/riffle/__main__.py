"""`python -m riffle COMMAND ...`: the program."""

from riffle_program import run

run()

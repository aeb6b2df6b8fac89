"""The commands of the program and their options, as its help lists them."""

import re


def commands_of(riffle):
    text = riffle("help").stdout
    return re.findall(r"^  (\w+) +\S", text[text.index("commands:"):text.index("\n\nenvironment:")], re.M)


def options_of(text):
    """The options of a help text: in the left column, not in the words beside it."""
    return re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", text.split("\noptions:\n")[1], re.M)

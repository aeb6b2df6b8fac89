"""Manual pages as man(1) shows them, and completions as bash, zsh and fish give them."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from commands import commands_of, options_of


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r".\x08", "", text))


@pytest.fixture
def shown(riffle, tmp_path):
    """shown(COMMAND...) -> what man(1) makes of its page, in one line."""
    def show(*command):
        page = tmp_path / "page.1"
        page.write_text(riffle("help", "--man", *command).stdout)
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return plain(done.stdout).replace("‐", "-").replace("−", "-")
    return show


def test_the_page_of_riffle_names_every_command_variable_and_exit_code(riffle, shown):
    text, told = shown(), riffle("help").stdout
    for command in commands_of(riffle):
        assert f"riffle-{command}(1)" in text
    facts = re.findall(r"^  (\w+)  +(.*)", told[told.index("environment:"):], re.M)
    assert len(facts) > 6
    for name, fact in facts:
        assert f" {name} {fact} " in text


def test_the_page_of_a_command_says_what_its_help_says(riffle, shown):
    for command in commands_of(riffle):
        text, told = shown(command), riffle(command, "--help").stdout
        for option in options_of(riffle(command, "--help").stdout):
            assert option in text
        # A word that a line of the page breaks has a hyphen: words are compared without any.
        words = re.sub(r"[-\s]", "", told[told.index("\noptions:\n") + 10:told.index("\nexample:\n")])
        page = re.sub(r"[-\s]", "", text)
        for option in re.split(r"(?=--[a-z])", words):
            assert option[:40] in page, (command, option)
        for line in told[told.index("\nexample:\n") + 10:].splitlines():
            assert plain(line.strip()) in text, (command, line)


def test_a_page_of_what_is_no_command_is_refused(riffle):
    done = riffle("help", "--man", "mxi", check=False)
    assert done.returncode == 2 and "did you mean mix?" in done.stderr
    done = riffle("help", "--man", "mix", "read", check=False)
    assert done.returncode == 2 and "usage: riffle help [--man] [COMMAND]" in done.stderr
    done = riffle("completion", "tcsh", check=False)
    assert done.returncode == 2 and "no completion for tcsh: bash, zsh and fish have one" in done.stderr


class Terminal:
    """A shell on a terminal: what is typed is completed as for a person."""

    def __init__(self, words, folder, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**os.environ, **env, "TERM": "dumb", "HOME": str(folder)})
        self.seen = ""

    def wait_for(self, pattern, seconds=60):
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return found

    def type(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def script(riffle, tmp_path):
    """script(SHELL) -> the path of its completion, beside a file that a word may name."""
    (tmp_path / "run-of-mine.yml").touch()

    def write(shell):
        path = tmp_path / f"riffle.{shell}"
        path.write_text(riffle("completion", shell).stdout)
        return path
    return write


CASES = [  # what is typed, and what one tab makes of it
    ("riffle reweig", "riffle reweight "),
    ("riffle mix --until", "riffle mix --until-step "),
    ("riffle mix --log js", "riffle mix --log json "),
    ("riffle mix -c run-o", "riffle mix -c run-of-mine.yml "),
    ("riffle read --config run-o", "riffle read --config run-of-mine.yml "),
]
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; source {}"),
    "zsh": (["zsh", "-f", "-i"], "unsetopt zle_bracketed_paste prompt_cr; autoload -U compinit; compinit -D -u; source {}"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes_commands_options_values_and_files(script, tmp_path, shell):
    words, load = SHELLS[shell]
    terminal = Terminal(words, tmp_path, {"PS1": "ready> ", "PROMPT": "ready> "})
    try:
        terminal.type(load.format(script(shell)) + "; echo loaded=$((40 + 2))\n")
        terminal.wait_for(r"loaded=42\s+.*ready> ")
        for typed, whole in CASES:
            terminal.type(typed + "\t")
            terminal.wait_for(re.escape(whole))
            terminal.type("\x15\n")  # the line is thrown away
            terminal.wait_for("ready> ")
    finally:
        terminal.end()


def test_fish_completes_commands_options_values_and_files(script, tmp_path):
    path = script("fish")
    for typed, whole in CASES:
        done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{typed}'"], capture_output=True,
                              text=True, timeout=60, cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)})
        assert done.returncode == 0 and done.stderr == "", done.stderr
        offered = [line.split("\t")[0] for line in done.stdout.splitlines()]
        assert offered == [whole.split()[-1]], (typed, offered)


def test_bash_offers_every_command_and_every_option(riffle, script):
    path = script("bash")
    asked = 'source {}; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); compopt() {{ :; }}; _riffle; printf "%s\\n" "${{COMPREPLY[@]}}"'

    def offered(words):
        return subprocess.run(["bash", "-c", asked.format(path, words)], check=True, capture_output=True, text=True).stdout.split()
    assert offered("riffle ''") == [*commands_of(riffle), "help", "--help", "--version"]
    for command in commands_of(riffle):
        assert offered(f"riffle {command} --") == options_of(riffle(command, "--help").stdout)

"""Network namespaces of a run: the brokers' and this program's, and one for the clients.

enter() starts the program again inside namespaces of its own (network, processes, mounts): whatever
it starts, mounts or configures ends with it, also where it is killed. The clients' namespace is tied
to the brokers' by a veth pair, which cut() takes down: packets are lost, no connection is closed.
"""

import os
import subprocess
import sys
import time

SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
INSIDE = "RIFFLE_CHAOS_INSIDE"


def enter():
    """Returns inside the namespaces. Where the kernel allows none, ends with a sentence."""
    if os.environ.get(INSIDE):
        return
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        sys.exit(f"chaos: namespaces are not allowed here, and the network cut needs them: {tried.stderr.strip()}; "
                 "run it as root, or allow user namespaces")
    os.execvpe(words[0], [*words, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Network:
    """The two ends: brokers listen on SERVER in this namespace, clients run in the other."""

    def __init__(self):
        ip("link", "set", "lo", "up")
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            time.sleep(0.01)
        ip("link", "add", "brokers", "type", "veth", "peer", "name", "clients")
        ip("link", "set", "clients", "netns", self.holder.pid)
        ip("addr", "add", f"{SERVER}/24", "dev", "brokers")
        ip("link", "set", "brokers", "up")
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("ip", "addr", "add", f"{CLIENT}/24", "dev", "clients")
        self.inside("ip", "link", "set", "clients", "up")

    @property
    def prefix(self):
        """Put before a command it runs among the clients; the process is that of the command."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]

    def inside(self, *words):
        subprocess.run([*self.prefix, *words], check=True)

    def cut(self):
        ip("link", "set", "brokers", "down")

    def heal(self):
        ip("link", "set", "brokers", "up")

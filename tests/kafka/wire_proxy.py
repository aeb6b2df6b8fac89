"""A proxy between a client and a broker that knows where a request of Kafka's protocol begins and ends.

Every answer that names the broker's port names the proxy's instead, so that all connections go
through it. What happens to a request is decided by `decide(api_key)`, for each one:

    PASS          it is passed on, and so is its answer
    LOSE_ANSWER   it is passed on; the connection breaks before the answer
    SILENCE       it is passed on; the answer never comes, and the connection stays
    HOLD          it is kept back and the connection breaks; release() passes it on
    LATE          it is passed on LATE_SECONDS later, and what follows on its connection behind it
    NO_BROKERS    it is passed on; the answer, which is metadata, comes without its list of brokers
"""

import enum
import socket
import struct
import threading
import time

LATE_SECONDS = 1.3
PRODUCE, FETCH, METADATA, OFFSET_FETCH, FIND_COORDINATOR, INIT_PRODUCER, ADD_PARTITIONS, END_TRANSACTION = 0, 1, 3, 9, 10, 22, 24, 26


class Fate(enum.Enum):
    PASS, LOSE_ANSWER, SILENCE, HOLD, LATE, NO_BROKERS = range(6)


def read_exactly(from_socket, n):
    parts = bytearray()
    while len(parts) < n:
        part = from_socket.recv(min(n - len(parts), 1 << 20))
        if not part:
            raise ConnectionError
        parts += part
    return bytes(parts)


def read_frame(from_socket):
    size = read_exactly(from_socket, 4)
    return size + read_exactly(from_socket, struct.unpack(">i", size)[0])


def without_brokers(frame, version):
    """An answer to a request for metadata, with no broker in it."""
    compact = version >= 9  # then lengths are varints, of which one byte is enough here, and tags stand behind
    at = 8 + compact + 4 * (version >= 3)  # behind the correlation id, its tags and the throttle time
    n = frame[at] - 1 if compact else struct.unpack(">i", frame[at:at + 4])[0]
    end = at + (1 if compact else 4)

    def text(at):
        return at + max(frame[at], 1) if compact else at + 2 + max(struct.unpack(">h", frame[at:at + 2])[0], 0)
    for _ in range(n):
        end = text(end + 4) + 4  # its number, host and port
        end = text(end) if version >= 1 else end  # rack
        end += compact
    answer = frame[4:at] + (b"\x01" if compact else bytes(4)) + frame[end:]
    return struct.pack(">i", len(answer)) + answer


class Forger:
    """Decides that answers with metadata name no broker, for so many seconds from now on."""

    def __init__(self, seconds):
        self.end, self.forged = time.monotonic() + seconds, 0

    def __call__(self, api_key):
        if api_key != METADATA or time.monotonic() > self.end:
            return Fate.PASS
        self.forged += 1
        return Fate.NO_BROKERS


class Proxy:
    def __init__(self, broker, decide):
        self.host, port = broker.split(":")
        self.port = int(port)
        self.decide = decide
        self.held, self.clients, self.away = [], set(), False
        self.answered_bytes = 0  # that the broker has sent
        self.request = b""  # that decide() is asked about
        self.lock = threading.Lock()
        with socket.create_server((self.host, 0)) as free:
            own = free.getsockname()[1]
        self.listener = socket.create_server((self.host, own))  # bound to a number, it keeps its port through leave()
        self.address = f"{self.host}:{own}"
        name = self.host.encode()
        self.names = {name + struct.pack(">i", self.port): name + struct.pack(">i", own)}
        self.begin()

    def begin(self):
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """One connection: its requests one by one. A client that sends several at once gets its answers in order."""
        try:
            broker = socket.create_connection((self.host, self.port))
        except OSError:  # it is down
            return client.close()
        for s in (client, broker):  # else a second small frame waits 40 ms for the receipt of the first one
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.clients.add(client)
        if self.away:  # since it was accepted
            client.shutdown(socket.SHUT_RDWR)
        fates = {}  # of requests, and their versions, by correlation id
        back = threading.Thread(target=self.answer, args=(broker, client, fates), daemon=True)
        back.start()
        try:
            while True:
                frame = read_frame(client)
                api_key, version, correlation = struct.unpack(">hhi", frame[4:12])
                with self.lock:
                    self.request = frame
                    fate = self.decide(api_key)
                if fate == Fate.HOLD:
                    self.held.append(frame)
                    return
                if fate == Fate.LATE:
                    time.sleep(LATE_SECONDS)
                    fate = Fate.PASS
                fates[correlation] = fate, version
                broker.sendall(frame)
        except OSError:
            pass
        finally:
            for s in (client, broker):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            back.join(timeout=10)
            self.clients.discard(client)
            client.close()
            broker.close()

    def answer(self, broker, client, fates):
        try:
            while True:
                frame = read_frame(broker)
                with self.lock:
                    self.answered_bytes += len(frame)
                fate, version = fates.pop(struct.unpack(">i", frame[4:8])[0])
                if fate == Fate.NO_BROKERS:
                    frame, fate = without_brokers(frame, version), Fate.PASS
                if fate == Fate.LOSE_ANSWER:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                if fate == Fate.PASS:
                    for theirs, ours in self.names.items():
                        frame = frame.replace(theirs, ours)
                    client.sendall(frame)
        except OSError:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def release(self):
        """Passes the oldest held request on, late, on a connection of its own; its answer behind the correlation id."""
        with socket.create_connection((self.host, self.port)) as broker:
            broker.sendall(self.held.pop(0))
            return read_frame(broker)[8:]

    def disconnect(self):
        """Breaks all connections; clients make new ones."""
        for client in list(self.clients):
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended meanwhile

    def leave(self):
        """Acts as if the broker had died. All connections break, and new ones are refused. The proxy keeps its port."""
        self.away = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.disconnect()

    def come_back(self):
        self.away = False
        self.listener.listen()
        self.begin()

    def close(self):
        self.listener.close()


def pass_all(api_key):
    return Fate.PASS


def proxies_of(bootstrap):
    """A proxy before each broker, which passes all on; an address in any answer is that of a proxy."""
    made = [Proxy(address, pass_all) for address in bootstrap.split(",")]
    names = {theirs: ours for proxy in made for theirs, ours in proxy.names.items()}
    for proxy in made:
        proxy.names = names
    return made

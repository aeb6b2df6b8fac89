"""A proxy between a client and a broker that knows where a request of Kafka's protocol begins and ends.

Every answer that names the broker's port names the proxy's instead, so that all connections go
through it. What happens to a request is decided by `decide(api_key)`, for each one:

    PASS          it is passed on, and so is its answer
    LOSE_ANSWER   it is passed on; the connection breaks before the answer
    SILENCE       it is passed on; the answer never comes, and the connection stays
    HOLD          it is kept back and the connection breaks; release() passes it on
    LATE          it is passed on LATE_SECONDS later, and what follows on its connection behind it
"""

import enum
import socket
import struct
import threading
import time

LATE_SECONDS = 1.3
PRODUCE, OFFSET_FETCH, FIND_COORDINATOR, INIT_PRODUCER, ADD_PARTITIONS, END_TRANSACTION = 0, 9, 10, 22, 24, 26


class Fate(enum.Enum):
    PASS, LOSE_ANSWER, SILENCE, HOLD, LATE = range(5)


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


class Proxy:
    def __init__(self, broker, decide):
        self.host, port = broker.split(":")
        self.port = int(port)
        self.decide = decide
        self.held = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        own = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{own}"
        name = self.host.encode()
        self.theirs, self.ours = name + struct.pack(">i", self.port), name + struct.pack(">i", own)
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
        broker = socket.create_connection((self.host, self.port))
        fates = {}  # of requests that are not simply passed, by correlation id
        back = threading.Thread(target=self.answer, args=(broker, client, fates), daemon=True)
        back.start()
        try:
            while True:
                frame = read_frame(client)
                api_key, _, correlation = struct.unpack(">hhi", frame[4:12])
                with self.lock:
                    fate = self.decide(api_key)
                if fate == Fate.HOLD:
                    self.held.append(frame)
                    return
                if fate == Fate.LATE:
                    time.sleep(LATE_SECONDS)
                    fate = Fate.PASS
                fates[correlation] = fate
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
            client.close()
            broker.close()

    def answer(self, broker, client, fates):
        try:
            while True:
                frame = read_frame(broker)
                fate = fates.pop(struct.unpack(">i", frame[4:8])[0], Fate.PASS)
                if fate == Fate.LOSE_ANSWER:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                if fate == Fate.PASS:
                    client.sendall(frame.replace(self.theirs, self.ours))
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

    def close(self):
        self.listener.close()

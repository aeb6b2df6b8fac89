"""Gives and takes ACLs over Kafka's own protocol: a JVM and kafka-acls.sh for each would cost two seconds.

SASL/PLAIN (RFC 4616) without TLS; CreateAcls, DescribeAcls and DeleteAcls in version 1.
"""

import socket
import struct
import time

DESCRIBE, CREATE, DELETE = 29, 30, 31
TYPES = {"topic": 2, "group": 3, "cluster": 4, "transactional-id": 5}
PATTERNS = {"literal": 3, "prefixed": 4}
OPERATIONS = {"READ": 3, "WRITE": 4, "CREATE": 5, "DELETE": 6, "ALTER": 7, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10,
              "ALTER_CONFIGS": 11, "IDEMPOTENT_WRITE": 12}
ALLOW, ANY_HOST = 3, "*"


def text(value):
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


class AclClient:
    def __init__(self, properties):
        """`properties` are librdkafka's, of a user who may alter the cluster, for a port that speaks PLAIN without TLS."""
        self.properties = properties
        self.connect()

    def connect(self):
        properties = self.properties
        host, port = properties["bootstrap.servers"].split(":")
        self.socket = socket.create_connection((host, int(port)), 30)
        self.calls = 0
        answer = self.call(17, 1, text("PLAIN"))
        assert answer[:2] == b"\0\0", answer
        message = f"\0{properties['sasl.username']}\0{properties['sasl.password']}".encode()
        answer = self.call(36, 0, struct.pack(">i", len(message)) + message)
        assert answer[:2] == b"\0\0", answer

    def close(self):
        self.socket.close()

    def call(self, key, version, body):
        self.calls += 1
        request = struct.pack(">hhi", key, version, self.calls) + text("tests") + body
        self.socket.sendall(struct.pack(">i", len(request)) + request)
        answer = self.receive(struct.unpack(">i", self.receive(4))[0])
        assert struct.unpack(">i", answer[:4])[0] == self.calls
        return answer[4:]

    def receive(self, n):
        got = b""
        while len(got) < n:
            more = self.socket.recv(n - len(got))
            assert more, "the broker closed the connection"
            got += more
        return got

    @staticmethod
    def entry(principal, right):
        operation, kind, pattern, name = right
        return (struct.pack(">b", TYPES[kind]) + text(name) + struct.pack(">b", PATTERNS[pattern]) + text(principal)
                + text(ANY_HOST) + struct.pack(">bb", OPERATIONS[operation], ALLOW))

    def is_given(self, principal, right):
        answer = self.call(DESCRIBE, 1, self.entry(principal, right))
        error, length = struct.unpack(">hh", answer[4:8])
        assert error == 0, answer
        at = 8 + max(length, 0)
        return struct.unpack(">i", answer[at:at + 4])[0] > 0

    def wait(self, principal, rights, given):
        # The broker's authorizer answers: what it says is what it decides by.
        end = time.monotonic() + 60
        while any(self.is_given(principal, right) != given for right in rights):
            assert time.monotonic() < end, "the broker does not take over the ACLs"
            time.sleep(0.005)

    def give(self, principal, rights):
        body = struct.pack(">i", len(rights)) + b"".join(self.entry(principal, r) for r in rights)
        answer = self.call(CREATE, 1, body)
        assert struct.unpack(">i", answer[4:8])[0] == len(rights)
        self.wait(principal, rights, True)

    def take(self, principal, rights):
        body = struct.pack(">i", len(rights)) + b"".join(self.entry(principal, r) for r in rights)
        self.call(DELETE, 1, body)
        self.wait(principal, rights, False)

"""A producer can meet records of one that was killed, which were on their way; it ends, and the next start continues."""

LATE = "or one that was killed had records on their way"  # what such a start says last
TRIES = 4


def past_late(start):
    """start() until it meets no late records; returns its subprocess.CompletedProcess, which must have ended with 0."""
    for _ in range(TRIES):
        done = start()
        if done.returncode == 0 or LATE not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    return done

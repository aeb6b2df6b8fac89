/*
 * holder.h -- which process a member of a producers' group is, by its client.id, and whether it
 * still lives.
 *
 *     riffle-produce-4711-88121-9f3a11c0-worker-3
 *                    pid  start machine  host
 *
 * `start` is when the process began, in ticks since the machine did: with the pid it means one
 * process, also after the pid was given to another. `machine` is a hash of the machine's boot and
 * of the space of pids (a container has its own): where it is ours the pid means something here.
 *
 * Thread: any.
 */
#ifndef PRODUCER_WRITER_HOLDER_H
#define PRODUCER_WRITER_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOLDER_CLIENT_BYTES = 64 /* of a client.id, NUL included; the host's name is cut */ };

struct holder {
	long pid;
	uint64_t start;
	uint32_t machine; /* 0: not known */
	char host[HOLDER_CLIENT_BYTES];
};

/* This process. */
struct holder holder_self(void);

/* The client.id without "riffle-", as struct kafka_options has it. */
void holder_encode(char out[static HOLDER_CLIENT_BYTES], const struct holder *h);

/* false: a client.id that is not a producer's. */
bool holder_decode(struct holder *out, const char *client);

/* Whether it is certain that this process has ended: true only of one on this very machine. */
bool holder_dead(const struct holder *h);

#endif

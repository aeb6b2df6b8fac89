/*
 * failure.h -- how a failure travels: a code to branch on, a sentence for a person.
 *
 * The room common/base is what every other room stands on, and none of it knows what riffle is for
 * but names.h and limits.h.
 *
 * Files of this room:
 *     failure        codes and sentences
 *     limits         how much of everything a corpus and a mix may have
 *     names          names of topics and groups, and which names are allowed
 *     log            one line an event, to stderr
 *     clock          time for deadlines and rates
 *     file           how a file that riffle writes is made
 *     thread         threads that take no signals
 *     stop           the request to stop, from a signal handler to every loop
 *     fault          points at which a test makes the process die
 *     scalar         texts that people write for numbers
 *     nearest        which known name a mistyped one most likely means
 *     text           a text put together by formats; how one from outside is shown
 *     buffer         bytes and arrays that grow at their end
 *     utf8           is it UTF-8, and what it is read as where it is not
 *     json_text      walks along a JSON text, strictly
 *     json_field     takes fields out of a JSON object by dotted paths
 *     json_memory    jansson where memory is refused
 *
 * Whoever detects a failure calls fail() with what was attempted, on what, and why. Each level
 * above may put context in front with fail_within(). Only cli/main.c prints the sentence, and
 * escapes what names and records put into it (text.h); libriffle does so when it hands it out.
 * Sentences start in lower case, have no final stop and name the file, topic or key.
 *
 *     fail(f, FAIL_BROKER, "%s", why)         "no such host"
 *     fail_within(f, "topic %s", topic)       "topic docs.web: no such host"
 *
 * A struct failure is a value of the caller's; only after a call returned another code than
 * FAIL_NONE does it hold anything.
 */
#ifndef COMMON_BASE_FAILURE_H
#define COMMON_BASE_FAILURE_H

#include <stddef.h>

enum fail_code {
	FAIL_NONE = 0,
	FAIL_MEMORY,  /* an allocation failed */
	FAIL_USAGE,   /* the command line is wrong */
	FAIL_CONFIG,  /* the configuration, or its fit to the log, is wrong */
	FAIL_IO,      /* a file, pipe or program failed */
	FAIL_DATA,    /* bytes from outside are not what they must be */
	FAIL_BROKER,  /* Kafka refused, or could not be reached */
	FAIL_TIMEOUT, /* nothing came within the time allowed */
	FAIL_FENCED,  /* a newer instance has taken over */
	FAIL_STOPPED, /* the caller, or a signal, asked to stop */
	FAIL_DENIED,  /* Kafka knows the user, who lacks a right: trying again does not help */
};

enum { FAILURE_TEXT_MAX = 1024 };

struct failure {
	enum fail_code code;
	char text[FAILURE_TEXT_MAX];
};

/* Writes code and sentence (cut at FAILURE_TEXT_MAX) into `f`; returns `code`. Preserves errno. */
enum fail_code fail(struct failure *f, enum fail_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and the text of errno at the end; ENOMEM is FAIL_MEMORY whatever `code` is.
 * EMFILE says how many files the process may open, and how to raise that. */
enum fail_code fail_errno(struct failure *f, enum fail_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* FAIL_MEMORY with one sentence for all: "out of memory". */
enum fail_code fail_memory(struct failure *f);

/* Puts context and ": " in front of the sentence; returns the code that `f` holds. */
enum fail_code fail_within(struct failure *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts more behind the sentence; returns the code that `f` holds. */
enum fail_code fail_more(struct failure *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Where this process cannot open one file more, or the sentence says that it could not, puts that
 * and how to raise the limit behind it: libraries say so in their own words, or not at all. Returns
 * the code that `f` holds.
 */
enum fail_code fail_files(struct failure *f);

/* The exit code of a program that ends with `code`: 0 done, 1 the world, 2 usage or config;
 * 3 fenced. */
int fail_exit(enum fail_code code);

#endif

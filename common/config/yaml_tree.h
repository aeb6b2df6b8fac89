/*
 * yaml_tree.h -- a YAML file as a tree of maps, lists and texts with line numbers.
 *
 * One document a file. Keys are texts, distinct within their map. Aliases are followed, each use
 * counting as the nodes it stands for, so that a small file cannot become a large tree; a cycle of
 * aliases is too deep. Texts are UTF-8 without NUL bytes. A tag is refused, but for !!str, !!seq
 * and !!map, and !!int, !!float and !!bool of a text that is one.
 *
 * Errors are FAIL_CONFIG and "FILE:LINE: what is wrong".
 */
#ifndef COMMON_CONFIG_YAML_TREE_H
#define COMMON_CONFIG_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum {
	YAML_FILE_BYTES_MAX = 16 << 20,
	YAML_DEPTH_MAX = 64, /* maps and lists inside each other */
	YAML_NODES_MAX = 1 << 18,
};

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	int line;                /* from 1; of the key, where there is one; 0: yaml_tree_set() */
	const char *key;         /* NULL: not an entry of a map */
	const char *text;        /* YAML_TEXT */
	bool plain;              /* YAML_TEXT: without quotes; `key:` alone is a plain empty text */
	struct yaml_node *child; /* [children_n], in the order of the file */
	size_t children_n;
};

struct yaml_tree;

/* Gives *out, to be ended with yaml_tree_close(). Reads `path`, which may be a pipe. */
enum fail_code yaml_tree_open(struct yaml_tree **out, const char *path, struct failure *f);

/* The same from memory; `name` is the file of the messages. Copies what it needs of bytes[n]. */
enum fail_code yaml_tree_decode(
    struct yaml_tree **out, const char *name, const char *bytes, size_t n, struct failure *f);
void yaml_tree_close(struct yaml_tree *t); /* NULL is accepted */

/*
 * Replaces or adds the value at a path, as `setting`, "PATH=VALUE", has both; copies. Nodes that it
 * makes have line 0. A value that begins with one of [ { " ' is YAML, any other is a text as it is.
 *
 * A path is keys with dots between them; [N] behind a key is entry N, from 0, of its list. Keys may
 * hold dots themselves: of the keys that are there the longest that fits is meant. Of those that
 * are not, `whole` decides: where it says so of the path of a map ("mix.weights"), all that is left
 * is one key.
 *
 *     docs.web: {live: false}     domains.docs.web.live=true      changes `live` of docs.web
 *                                 mix.weights.docs.web=0.5        adds docs.web (whole)
 *
 * FAIL_CONFIG: no such path ("-s PATH: why"). The tree can then only be closed.
 */
enum fail_code yaml_tree_set(
    struct yaml_tree *t, const char *setting, bool (*whole)(const char *path), struct failure *f);

/* Borrowed for the life of the tree, as are all nodes and texts. */
const struct yaml_node *yaml_tree_root(const struct yaml_tree *t);

/* The entry of a map; NULL: there is none, or `node` is NULL or not a map. */
const struct yaml_node *yaml_node_get(const struct yaml_node *node, const char *key);

#endif

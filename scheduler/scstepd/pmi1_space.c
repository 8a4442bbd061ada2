// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/pmi1_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 64

struct pmi1_pair {
	struct pmi1_pair *next;
	uint64_t hash;
	char *value;
	char key[];
};

/* FNV-1a. */
static uint64_t hash_of(const char *key)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (*key)
		hash = (hash ^ (unsigned char)*key++) * 0x100000001b3u;
	return hash;
}

static struct pmi1_pair *find(const struct pmi1_space *space, const char *key, uint64_t hash)
{
	struct pmi1_pair *pair = space->n_buckets ? space->buckets[hash & (space->n_buckets - 1)]
						  : NULL;

	while (pair && (pair->hash != hash || strcmp(pair->key, key)))
		pair = pair->next;
	return pair;
}

static int grow(struct pmi1_space *space)
{
	size_t n = space->n_buckets ? space->n_buckets * 2 : BUCKETS_MIN;
	struct pmi1_pair **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < space->n_buckets; i++)
		for (struct pmi1_pair *pair = space->buckets[i], *next; pair; pair = next) {
			next = pair->next;
			pair->next = buckets[pair->hash & (n - 1)];
			buckets[pair->hash & (n - 1)] = pair;
		}
	free(space->buckets);
	space->buckets = buckets;
	space->n_buckets = n;
	return 0;
}

static int add(struct pmi1_space *space, const char *key, uint64_t hash, char *value)
{
	size_t size = strlen(key) + 1;
	struct pmi1_pair *pair, **bucket;

	if (space->n >= space->n_buckets && grow(space))
		return -ENOMEM;
	pair = malloc(sizeof(*pair) + size);
	if (!pair)
		return -ENOMEM;
	bucket = &space->buckets[hash & (space->n_buckets - 1)];
	*pair = (struct pmi1_pair){.next = *bucket, .hash = hash, .value = value};
	memcpy(pair->key, key, size);
	*bucket = pair;
	space->n++;
	return 0;
}

int pmi1_space_put(struct pmi1_space *space, const char *key, const char *value)
{
	uint64_t hash = hash_of(key);
	struct pmi1_pair *pair;
	char *copy;
	int rc = 0;

	if (strlen(key) >= PMI1_KEY_MAX || strlen(value) >= PMI1_VALUE_MAX)
		return -EMSGSIZE;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	pair = find(space, key, hash);
	if (pair) {
		free(pair->value);
		pair->value = copy;
	} else {
		rc = add(space, key, hash, copy);
	}
	if (rc)
		free(copy);
	return rc;
}

const char *pmi1_space_get(const struct pmi1_space *space, const char *key)
{
	const struct pmi1_pair *pair = find(space, key, hash_of(key));

	return pair ? pair->value : NULL;
}

static int check(const char *data, size_t size)
{
	const char *end = data + size;

	for (size_t i = 0; data < end; i++) {
		const char *stop = memchr(data, '\0', (size_t)(end - data));

		if (!stop || stop - data >= (i % 2 ? PMI1_VALUE_MAX : PMI1_KEY_MAX))
			return -EPROTO;
		data = stop + 1;
		if (data == end && i % 2 == 0)
			return -EPROTO;
	}
	return 0;
}

int pmi1_space_merge(struct pmi1_space *space, const char *data, size_t size)
{
	const char *end = data + size;
	int rc = check(data, size);

	while (!rc && data < end) {
		const char *value = data + strlen(data) + 1;

		rc = pmi1_space_put(space, data, value);
		data = value + strlen(value) + 1;
	}
	return rc;
}

int pmi1_pairs_add(struct pmi1_pairs *pairs, const char *key, const char *value)
{
	size_t n_key = strlen(key) + 1, n_value = strlen(value) + 1;
	size_t need = pairs->n + n_key + n_value;

	if (need > pairs->room) {
		char *bytes = realloc(pairs->bytes, need * 2);

		if (!bytes)
			return -ENOMEM;
		pairs->bytes = bytes;
		pairs->room = need * 2;
	}
	memcpy(pairs->bytes + pairs->n, key, n_key);
	memcpy(pairs->bytes + pairs->n + n_key, value, n_value);
	pairs->n = need;
	return 0;
}

void pmi1_space_fini(struct pmi1_space *space)
{
	for (size_t i = 0; i < space->n_buckets; i++)
		while (space->buckets[i]) {
			struct pmi1_pair *pair = space->buckets[i];

			space->buckets[i] = pair->next;
			free(pair->value);
			free(pair);
		}
	free(space->buckets);
	*space = (struct pmi1_space){0};
}

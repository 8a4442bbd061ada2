// SPDX-License-Identifier: BSD-3-Clause
/*
 * Lines are kept in the order in which they came first. A rank joins an equal line if that stands
 * behind all of the same stream that it has joined before; else its line is a new one. Equal lines
 * are found by a hash table.
 */
#include "scheduler/scrun/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/siphash.h"

#define BUCKETS 1024

struct entry {
	struct entry *next;      /* in the order of output */
	struct entry *same_hash; /* older ones of the bucket */
	uint64_t number;         /* place in the order, from 1 */
	uint64_t hash;
	int stream;
	uint32_t *ranks;
	size_t n_ranks, room;
	size_t size;
	char line[];
};

struct merge {
	struct entry *first, **last;
	struct entry *bucket[BUCKETS];
	uint64_t n; /* entries */
	size_t size;
	uint64_t *joined; /* [2 * rank + stream - 1]: number of the entry it joined last */
	size_t n_joined;
};

struct merge *merge_open(void)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (merge)
		merge->last = &merge->first;
	return merge;
}

static void clear(struct merge *merge)
{
	while (merge->first) {
		struct entry *entry = merge->first;

		merge->first = entry->next;
		free(entry->ranks);
		free(entry);
	}
	merge->last = &merge->first;
	memset(merge->bucket, 0, sizeof(merge->bucket));
	if (merge->joined)
		memset(merge->joined, 0, merge->n_joined * sizeof(*merge->joined));
	merge->n = 0;
	merge->size = 0;
}

void merge_close(struct merge *merge)
{
	if (!merge)
		return;
	clear(merge);
	free(merge->joined);
	free(merge);
}

static int make_place(struct merge *merge, size_t place)
{
	size_t n = merge->n_joined ? merge->n_joined : 64;
	uint64_t *more;

	if (place < merge->n_joined)
		return 0;
	while (n <= place)
		n *= 2;
	more = reallocarray(merge->joined, n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + merge->n_joined, 0, (n - merge->n_joined) * sizeof(*more));
	merge->joined = more;
	merge->n_joined = n;
	return 0;
}

static uint64_t hash_of(int stream, const char *line, size_t size)
{
	return siphash(0, (uint64_t)stream, line, size);
}

/* The oldest equal one that may still be joined. */
static struct entry *find(const struct merge *merge, uint64_t hash, uint64_t behind, int stream,
			  const char *line, size_t size)
{
	struct entry *found = NULL;

	for (struct entry *e = merge->bucket[hash % BUCKETS]; e && e->number > behind;
	     e = e->same_hash)
		if (e->hash == hash && e->stream == stream && e->size == size &&
		    !memcmp(e->line, line, size))
			found = e;
	return found;
}

static struct entry *append(struct merge *merge, uint64_t hash, int stream, const char *line,
			    size_t size)
{
	struct entry *entry = malloc(sizeof(*entry) + size);

	if (!entry)
		return NULL;
	*entry = (struct entry){.same_hash = merge->bucket[hash % BUCKETS],
				.number = ++merge->n,
				.hash = hash,
				.stream = stream,
				.size = size};
	if (size)
		memcpy(entry->line, line, size);
	merge->bucket[hash % BUCKETS] = entry;
	*merge->last = entry;
	merge->last = &entry->next;
	merge->size += sizeof(*entry) + size;
	return entry;
}

static int join(struct merge *merge, struct entry *entry, uint32_t rank, size_t place)
{
	if (entry->n_ranks == entry->room) {
		size_t room = entry->room ? 2 * entry->room : 4;
		uint32_t *more = reallocarray(entry->ranks, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		entry->ranks = more;
		entry->room = room;
	}
	entry->ranks[entry->n_ranks++] = rank;
	merge->joined[place] = entry->number;
	merge->size += sizeof(rank);
	return 0;
}

int merge_add(struct merge *merge, uint32_t rank, int stream, const char *line, size_t size)
{
	uint64_t hash = hash_of(stream, line, size);
	size_t place = 2 * (size_t)rank + (size_t)stream - 1;
	struct entry *entry;

	if (make_place(merge, place))
		return -ENOMEM;
	entry = find(merge, hash, merge->joined[place], stream, line, size);
	if (!entry)
		entry = append(merge, hash, stream, line, size);
	return entry ? join(merge, entry, rank, place) : -ENOMEM;
}

size_t merge_size(const struct merge *merge)
{
	return merge->size;
}

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* "0-3,5". NULL: no memory. */
static char *list_ranks(uint32_t *ranks, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	qsort(ranks, n, sizeof(*ranks), by_number);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && ranks[j] == ranks[j - 1] + 1; j++)
			;
		fprintf(out, "%s%u", i ? "," : "", ranks[i]);
		if (j - i > 1)
			fprintf(out, "-%u", ranks[j - 1]);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

int merge_flush(struct merge *merge, merge_emit *emit, void *owner)
{
	int err = 0;

	for (struct entry *e = merge->first; e && !err; e = e->next) {
		char *who = list_ranks(e->ranks, e->n_ranks);

		if (who)
			emit(e->stream, who, e->line, e->size, owner);
		else
			err = -ENOMEM;
		free(who);
	}
	clear(merge);
	return err;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/source.h"

#include <search.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	const struct source *left = a, *right = b;

	if (left->world != right->world)
		return left->world < right->world ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

struct source *sources_find(const struct sources *sources, uint64_t world, uint64_t rank)
{
	struct source key = {.world = world, .rank = rank}, **node;

	node = tfind(&key, &sources->by_number, by_number);
	return node ? *node : NULL;
}

struct source *sources_add(struct sources *sources, uint64_t world, uint64_t rank)
{
	struct source *source = sources->n < SOURCES_MAX ? calloc(1, sizeof(*source)) : NULL;

	if (!source)
		return NULL;
	source->world = world;
	source->rank = rank;
	if (!tsearch(source, &sources->by_number, by_number)) {
		free(source);
		return NULL;
	}
	if (!sources->first)
		sources->last = &sources->first;
	sources->n++;
	*sources->last = source;
	sources->last = &source->next;
	return source;
}

static void keep(void *node)
{
	(void)node;
}

void sources_fini(struct sources *sources)
{
	tdestroy(sources->by_number, keep);
	while (sources->first) {
		struct source *source = sources->first;

		sources->first = source->next;
		label_fini(&source->line[0]);
		label_fini(&source->line[1]);
		free(source);
	}
	*sources = (struct sources){0};
}

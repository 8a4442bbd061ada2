// SPDX-License-Identifier: BSD-3-Clause
/* nameset - a hash table with open addressing over an array that keeps the order. */
#include "cluster/nameset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "pmcore/util/siphash.h"

#define ROOM_MIN 16
#define PLACES_MAX (1u << 30)

int nameset_init(struct nameset *set)
{
	*set = (struct nameset){0};
	return getrandom(set->key, sizeof(set->key), 0) == sizeof(set->key) ? 0 : -EIO;
}

void nameset_fini(struct nameset *set)
{
	free(set->names);
	free(set->table);
	*set = (struct nameset){0};
}

/* The table has twice as many entries as there are places: a chain always ends. */
static size_t mask(const struct nameset *set)
{
	return 2 * set->room - 1;
}

static size_t hash(const struct nameset *set, const char *name)
{
	return siphash(set->key[0], set->key[1], name, strlen(name)) & mask(set);
}

/*
 * The entry of @name, or the free one at the end of its chain. A removed name's entry stays, and
 * matches nothing.
 */
static uint32_t *find(const struct nameset *set, const char *name)
{
	size_t at = hash(set, name);

	for (; set->table[at]; at = (at + 1) & mask(set)) {
		const char *other = set->names[set->table[at] - 1];

		if (other && !strcmp(other, name))
			break;
	}
	return &set->table[at];
}

/* A set of the same names in @room places, a power of two, without the gaps. */
static int move(struct nameset *set, size_t room)
{
	struct nameset to = {.room = room, .key = {set->key[0], set->key[1]}};
	const char *name;
	size_t at = 0;

	to.names = calloc(room, sizeof(*to.names));
	to.table = calloc(2 * room, sizeof(*to.table));
	if (!to.names || !to.table) {
		nameset_fini(&to);
		return -ENOMEM;
	}
	while ((name = nameset_next(set, &at))) {
		to.names[to.used++] = name;
		*find(&to, name) = (uint32_t)to.used;
	}
	to.n = to.used;
	free(set->names);
	free(set->table);
	*set = to;
	return 0;
}

/* A place for one more. Only gaps are squeezed out where they are half of it. */
static int make_room(struct nameset *set)
{
	if (set->used < set->room)
		return 0;
	if (set->n < set->room / 2)
		return move(set, set->room);
	if (set->room >= PLACES_MAX)
		return -ENOMEM;
	return move(set, set->room ? set->room * 2 : ROOM_MIN);
}

int nameset_add(struct nameset *set, const char *name)
{
	int err;

	if (nameset_has(set, name))
		return 0;
	err = make_room(set);
	if (err)
		return err;
	set->names[set->used++] = name;
	*find(set, name) = (uint32_t)set->used;
	set->n++;
	return 0;
}

void nameset_remove(struct nameset *set, const char *name)
{
	uint32_t *entry = set->room ? find(set, name) : NULL;

	if (!entry || !*entry)
		return;
	set->names[*entry - 1] = NULL;
	set->n--;
}

bool nameset_has(const struct nameset *set, const char *name)
{
	return set->room && *find(set, name);
}

long nameset_place(const struct nameset *set, const char *name)
{
	return set->room ? (long)*find(set, name) - 1 : -1;
}

const char *nameset_next(const struct nameset *set, size_t *at)
{
	while (*at < set->used) {
		const char *name = set->names[(*at)++];

		if (name)
			return name;
	}
	return NULL;
}

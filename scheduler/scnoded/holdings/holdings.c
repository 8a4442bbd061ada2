// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/holdings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void holdings_trouble(struct holdings *h, const char *fmt, ...)
{
	va_list args;

	if (*h->trouble)
		return;
	va_start(args, fmt);
	vsnprintf(h->trouble, sizeof(h->trouble), fmt, args);
	va_end(args);
}

/* @plural: the things of the list, for the sentence. */
static void *add(struct holdings *h, void **list, size_t *n, size_t *room, size_t size, size_t max,
		 const char *plural)
{
	char *at;

	if (*n >= max) {
		holdings_trouble(h, "there are more than %zu %s; make it smaller", max, plural);
		return NULL;
	}
	if (*n == *room) {
		size_t more = *room ? 2 * *room : 64;
		void *grown = realloc(*list, more * size);

		if (!grown) {
			holdings_trouble(h,
					 "scnoded has no memory for a list of %s; " HOLDINGS_FREE,
					 plural);
			return NULL;
		}
		*list = grown;
		*room = more;
	}
	at = (char *)*list + (*n)++ * size;
	memset(at, 0, size);
	return at;
}

#define ADD(what, max, plural)                                                                     \
	({                                                                                         \
		void *list = h->what;                                                              \
		void *at = add(h, &list, &h->n_##what, &h->room_##what, sizeof(*h->what), max,     \
			       plural);                                                            \
		h->what = list;                                                                    \
		at;                                                                                \
	})

static bool remember(struct holdings *h, pid_t pid)
{
	if (!h->pids)
		h->pids = calloc(1, HOLDINGS_PID_MAX / 8);
	if (!h->pids || pid <= 0 || pid >= HOLDINGS_PID_MAX) {
		holdings_trouble(h, "scnoded has no memory for process %d; " HOLDINGS_FREE, pid);
		return false;
	}
	h->pids[pid / 8] |= (uint8_t)(1u << pid % 8);
	return true;
}

bool holdings_has(const struct holdings *h, pid_t pid)
{
	return h->pids && pid > 0 && pid < HOLDINGS_PID_MAX && h->pids[pid / 8] >> pid % 8 & 1;
}

struct held_process *holdings_add_process(struct holdings *h, pid_t pid)
{
	struct held_process *process = ADD(processes, HOLDINGS_PROCESSES_MAX, "processes");

	if (!process)
		return NULL;
	process->pid = pid;
	process->rank = HOLDINGS_NO_RANK;
	return remember(h, pid) ? process : NULL;
}

struct held_file *holdings_add_file(struct holdings *h)
{
	return ADD(files, HOLDINGS_FILES_MAX, "descriptors");
}

struct held_watch *holdings_add_watch(struct holdings *h)
{
	return ADD(watches, HOLDINGS_WATCHES_MAX, "descriptors that an epoll watches");
}

struct held_mapping *holdings_add_mapping(struct holdings *h)
{
	return ADD(mappings, HOLDINGS_MAPPINGS_MAX, "mappings of files");
}

/* As many as there are descriptors. */
struct held_socket *holdings_add_socket(struct holdings *h)
{
	return ADD(sockets, HOLDINGS_FILES_MAX, "sockets");
}

struct held_outsider *holdings_add_outsider(struct holdings *h)
{
	return ADD(outsiders, HOLDINGS_FILES_MAX, "pipes and sockets of other processes");
}

struct held_stranger *holdings_add_stranger(struct holdings *h)
{
	return ADD(strangers, HOLDINGS_PROCESSES_MAX, "processes outside the tree");
}

char *holdings_text(struct holdings *h, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy;

	if (size > HOLDINGS_TEXT_MAX - h->text_bytes) {
		holdings_trouble(h, "the paths of its files fill more than %u MiB; make it smaller",
				 HOLDINGS_TEXT_MAX >> 20);
		return NULL;
	}
	copy = malloc(size);
	if (!copy) {
		holdings_trouble(
			h, "scnoded has no memory for the paths of its files; " HOLDINGS_FREE);
		return NULL;
	}
	h->text_bytes += size;
	return memcpy(copy, text, size);
}

static int compare_sockets(const void *a, const void *b)
{
	const struct held_socket *left = a, *right = b;

	return (left->inode > right->inode) - (left->inode < right->inode);
}

static int compare_outsiders(const void *a, const void *b)
{
	const struct held_outsider *left = a, *right = b;

	return (left->inode > right->inode) - (left->inode < right->inode);
}

void holdings_sort(struct holdings *h)
{
	if (h->n_sockets)
		qsort(h->sockets, h->n_sockets, sizeof(*h->sockets), compare_sockets);
	if (h->n_outsiders)
		qsort(h->outsiders, h->n_outsiders, sizeof(*h->outsiders), compare_outsiders);
}

const struct held_outsider *holdings_outsider(const struct holdings *h, uint64_t inode)
{
	struct held_outsider key = {.inode = inode};

	return h->n_outsiders
		       ? bsearch(&key, h->outsiders, h->n_outsiders, sizeof(key), compare_outsiders)
		       : NULL;
}

const struct held_socket *holdings_socket(const struct holdings *h, uint64_t inode)
{
	struct held_socket key = {.inode = inode};

	return h->n_sockets ? bsearch(&key, h->sockets, h->n_sockets, sizeof(key), compare_sockets)
			    : NULL;
}

void holdings_free(struct holdings *h)
{
	for (size_t i = 0; i < h->n_files; i++)
		free(h->files[i].name);
	for (size_t i = 0; i < h->n_mappings; i++)
		free(h->mappings[i].name);
	free(h->processes);
	free(h->pids);
	free(h->files);
	free(h->watches);
	free(h->mappings);
	free(h->sockets);
	free(h->outsiders);
	free(h->strangers);
	*h = (struct holdings){0};
}

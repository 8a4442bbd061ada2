/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - where a job runs, as scored tells it: its leader, its hosts, and which ranks are on each.
 * Pure.
 */
#ifndef SCHEDULER_SCRUN_PLACE_H
#define SCHEDULER_SCRUN_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct place {
	uint64_t id;
	uid_t uid;
	char *leader; /* "ADDRESS:PORT" of the leader's host */
	size_t n_hosts;
	char **hosts;    /* names, and a NULL behind them */
	uint32_t *first; /* first rank of each host; [n_hosts] = all ranks */
};

/* From an OP_PLACED of a job of @ranks (0: any number). NULL: it is none, or there is no memory. */
struct place *place_read(const json_t *head, uint32_t ranks);
void place_free(struct place *place);
/* The number of the host that @rank is on; n_hosts = it has none. */
size_t place_host_of(const struct place *place, uint64_t rank);
/* Whether there may be such a rank. */
bool place_has(const struct place *place, uint64_t world, uint64_t rank);
bool place_has_host(const struct place *place, const char *name);
/* Its name; NULL as above. */
const char *place_name_of(const struct place *place, uint64_t rank);

#endif

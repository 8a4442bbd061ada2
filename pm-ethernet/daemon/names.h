/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names - what the hosts of a grid are called, by id; for people who ask, frames know numbers only.
 */
#ifndef PM_ETHERNET_DAEMON_NAMES_H
#define PM_ETHERNET_DAEMON_NAMES_H

#include <jansson.h>
#include <stdint.h>

/* Zeroed: no names. */
struct ethd_names {
	uint32_t n;   /* ids 1..n */
	uint32_t *at; /* where in text the name of id - 1 begins; 0: it has none */
	char *text;   /* names, each with its end; an empty one comes first */
};

/* Takes the names of @hosts, an array of cluster.json. 0 or -ENOMEM. */
int ethd_names_read(const json_t *hosts, struct ethd_names *ret);
void ethd_names_free(struct ethd_names *names);

/* "" = unknown. */
const char *ethd_names_of(const struct ethd_names *names, uint32_t id);
/* By the whole name, or what stands before its first dot; 0: nobody. */
uint32_t ethd_names_find(const struct ethd_names *names, const char *name);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the command line of scored(8), over what cluster.json says. Texts point into argv or
 * the section.
 */
#ifndef SCHEDULER_SCORED_OPTIONS_H
#define SCHEDULER_SCORED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/section.h"

#define SCORED_PORT "7710"
#define SCORED_STATE_DIRECTORY "/var/lib/openscore"
#define SCORED_EXIT_USAGE 2

struct scored_options {
	const char *config;       /* cluster.json; NULL: none */
	const char *listen;       /* "[ADDRESS:]PORT" */
	const char *state;        /* directory of the journal */
	const char *munge_socket; /* NULL: munge's own */
	const char *operators;    /* user names with commas; NULL: root alone */
	uint64_t quantum_ns;
	bool is_private; /* only for its own user and root */
	uint32_t rows;   /* most jobs that take turns on a core */
	/* Of one user: */
	uint32_t user_links; /* connections */
	uint32_t all_links;  /* of all users together, by the limit of open files; 0: any number */
	uint32_t user_jobs;  /* jobs that wait */
	size_t user_memory;  /* bytes of his jobs and requests */
	/* Of one who is no operator: */
	uint32_t user_lock_hosts; /* that he has alone; 0 = half of them */
	uint32_t user_lock_s;     /* that a lock lasts, however often it is renewed */
};

/*
 * Options that are not on the command line stay 0 or NULL until scored_options_complete(). 0:
 * scored may start; 1: help or version was printed; -EINVAL with a sentence: wrong.
 */
int scored_options_read(struct scored_options *ret, int argc, char **argv, char *why,
			size_t why_size);

/*
 * Sets the missing options: from the section, which may be NULL and must outlive the options, else
 * to the default.
 */
void scored_options_complete(struct scored_options *options, const struct section *section);

#endif

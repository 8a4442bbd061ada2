/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the command line of scnoded(8), over what cluster.json says. Texts point into argv, the
 * environment or the section.
 */
#ifndef SCHEDULER_SCNODED_OPTIONS_H
#define SCHEDULER_SCNODED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/section.h"

#define SCNODED_PORT "7711"
#define SCNODED_CHECKPOINTS "/var/lib/openscore/checkpoints"
#define SCNODED_EXIT_USAGE 2

struct scnoded_options {
	const char *server; /* "HOST[:PORT]" of scored */
	const char *name;   /* NULL: the host's own, up to the first dot */
	const char *listen; /* "[ADDRESS:]PORT" */
	const char
		*address; /* at which others reach us; NULL: the one from which scored is reached */
	const char *run;  /* directory; NULL: what suits the user */
	const char *cgroup; /* parent group */
	const char *
		/*
		 * list of the machine's cores that jobs may use, "4x" = as if there were four;
		 * NULL: all allowed
		 */
		cores;
	/* most of a job, threads included; NULL: as many as its ranks need */
	const char *processes;
	uint32_t n_processes; /* the same as a number; 0: not said */
	const char *memory; /* percent of the host's memory that one job may have; NULL: not said */
	uint32_t memory_share; /* the same as a number, also where it was not said */
	const char *munge_socket;
	const char *scstepd;     /* NULL: beside our own program */
	const char *checkpoints; /* directory of images of jobs */
	const char *criu;        /* the program CRIU; NULL: that of PATH */
	const char *config;      /* cluster.json; NULL: none */
	const char *scremote;    /* the same */
	bool has_no_remote;      /* starts nothing for scout */
	bool is_transient;       /* jobs and the run directory end with it */
	struct section section;  /* of it */
};

/* As scored_options_read(). */
int scnoded_options_read(struct scnoded_options *ret, int argc, char **argv, char *why,
			 size_t why_size);

#endif

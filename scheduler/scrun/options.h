/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - what the user typed: options of the job, then one or several programs, parted by an
 * argument ":". Each option has a GNU form (--nodes 4x2) and SCore's form (-nodes=4x2,network=udp:
 * one hyphen, joined by commas). Asks nobody and nothing: no environment, no file, no other host.
 */
#ifndef SCHEDULER_SCRUN_OPTIONS_H
#define SCHEDULER_SCRUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/job.h"

/* Words that stay where they are typed. */
struct words {
	const char **v;
	size_t n;
};

/* One program. */
struct options_app {
	char **argv;      /* NULL-terminated, points into main()'s */
	uint32_t ranks;   /* 0 = not said */
	struct words env; /* "NAME=VALUE", or "NAME": as it is here */
	struct words env_files;
	const char *cwd; /* NULL = the job's */
};

struct options {
	struct options_app *apps;
	size_t n_apps;
	uint32_t nodes, per_node; /* 0 = not said */
	const char *group, *hosts, *network, *server, *munge_socket, *name;
	enum job_class class;
	enum job_bind bind;
	uint32_t cores;
	uint64_t memory; /* of each rank; 0 = not said */
	int32_t priority;
	double timeout_s;
	int64_t stdin_rank;     /* or JOB_STDIN_... */
	const char *stdin_file; /* NULL = our standard input */
	const char *output;     /* pattern of files; NULL = our standard output and error */
	struct words no_env;    /* patterns */
	int64_t pty_rank;       /* -1 = none */
	bool is_labelled, is_merged, is_dry_run, is_json, is_quiet, is_statistics;
	bool wants_checkpoint;
	double checkpoint_s;                /* it is written by itself so often; 0 = not */
	bool restarts;                      /* --restart auto */
	uint64_t restart_id, restart_round; /* --restart; 0 = not said. There is no program then */
	bool waits;                         /* with restart_id: until there is a place for it */
	bool may_oversubscribe, does_report_bindings;
	bool has_default_collectives;   /* --collectives default */
	bool may_scatter;               /* --map any */
	uint32_t cart[JOB_CART_DIMS];   /* --map cart=... */
	uint32_t n_cart;                /* 0 = not said */
	bool wants_help, wants_version; /* then nothing else is set */
};

/*
 * 0, or -EINVAL or -ENOMEM with a sentence in @why. The ":" of @argv become NULL. Everything
 * borrows from @argv; options_fini() in each case.
 */
int options_read(struct options *ret, int argc, char **argv, char *why, size_t why_size);
void options_fini(struct options *options);

extern const char options_usage[];

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "pmcore/util/arguments.h"

#define MEMORY_SHARE 90
#define PROCESSES_MIN 16
#define PROCESSES_MAX 4194304 /* of a whole host, see proc(5) */

static const struct option table[] = {
	{"config", required_argument, NULL, 'f'},
	{"server", required_argument, NULL, 's'},
	{"name", required_argument, NULL, 'n'},
	{"listen", required_argument, NULL, 'l'},
	{"address", required_argument, NULL, 'a'},
	{"run", required_argument, NULL, 'r'},
	{"cgroup", required_argument, NULL, 'g'},
	{"cores", required_argument, NULL, 'c'},
	{"processes", required_argument, NULL, 'u'},
	{"memory", required_argument, NULL, 'M'},
	{"munge-socket", required_argument, NULL, 'm'},
	{"scstepd", required_argument, NULL, 'p'},
	{"scremote", required_argument, NULL, 'q'},
	{"checkpoints", required_argument, NULL, 'k'},
	{"criu", required_argument, NULL, 'i'},
	{"no-remote", no_argument, NULL, 'R'},
	{"transient", no_argument, NULL, 't'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: scnoded --server HOST[:PORT] | --config CLUSTER.JSON\n"
	"               [--name NAME] [--listen [ADDRESS:]PORT] [--address ADDRESS] [--run DIR]\n"
	"               [--cgroup GROUP] [--cores LIST|Nx] [--processes N] [--memory PERCENT]\n"
	"               [--munge-socket PATH]\n"
	"               [--checkpoints DIR] [--criu PATH]\n"
	"               [--scstepd PATH] [--scremote PATH] [--no-remote] [--transient]\n"
	"Runs jobs of scored(8) on this host, see scnoded(8).\n";

static const char **place_of(struct scnoded_options *o, int c)
{
	switch (c) {
	case 'f':
		return &o->config;
	case 's':
		return &o->server;
	case 'n':
		return &o->name;
	case 'l':
		return &o->listen;
	case 'a':
		return &o->address;
	case 'r':
		return &o->run;
	case 'g':
		return &o->cgroup;
	case 'c':
		return &o->cores;
	case 'u':
		return &o->processes;
	case 'M':
		return &o->memory;
	case 'm':
		return &o->munge_socket;
	case 'p':
		return &o->scstepd;
	case 'q':
		return &o->scremote;
	case 'k':
		return &o->checkpoints;
	case 'i':
		return &o->criu;
	default:
		return NULL;
	}
}

static bool set_processes(struct scnoded_options *o)
{
	char *end;
	unsigned long n = strtoul(o->processes, &end, 10);

	o->n_processes = (uint32_t)n;
	return end != o->processes && !*end && *o->processes != '-' && n >= PROCESSES_MIN &&
	       n <= PROCESSES_MAX;
}

static bool set_memory(struct scnoded_options *o)
{
	char *end;
	unsigned long n = strtoul(o->memory, &end, 10);

	o->memory_share = (uint32_t)n;
	return end != o->memory && !*end && *o->memory != '-' && n >= 1 && n <= 100;
}

/* Sets options that the command line leaves out: from the environment, section or default. */
static int complete(struct scnoded_options *o, char *why, size_t why_size)
{
	int err = o->config ? section_load(&o->section, o->config, why, why_size) : 0;

	if (err)
		return err;
	if (o->processes && !set_processes(o)) {
		snprintf(why, why_size, "--processes %s: wanted is a number from %d to %d",
			 o->processes, PROCESSES_MIN, PROCESSES_MAX);
		return -EINVAL;
	}
	if (o->memory && !set_memory(o)) {
		snprintf(why, why_size,
			 "--memory %s: wanted are percent of the host's memory, 1 to 100",
			 o->memory);
		return -EINVAL;
	}
	if (!o->memory)
		o->memory_share = o->section.memory ? o->section.memory : MEMORY_SHARE;
	if (!o->checkpoints)
		o->checkpoints = o->section.checkpoints;
	if (!o->checkpoints)
		o->checkpoints = SCNODED_CHECKPOINTS;
	if (!o->server)
		o->server = getenv("SCORE_SERVER");
	if (!o->server)
		o->server = o->section.server;
	if (!o->listen)
		o->listen = o->section.node_port ? o->section.node_port : SCNODED_PORT;
	if (o->server)
		return 0;
	snprintf(why, why_size, "%s%s; see scnoded --help", o->config ? o->config : "--server",
		 o->config ? " has no [scheduler]: write one into cluster.toml, or give --server"
			   : " is missing: the host of scored");
	return -EINVAL;
}

int scnoded_options_read(struct scnoded_options *ret, int argc, char **argv, char *why,
			 size_t why_size)
{
	struct scnoded_options o = {.cgroup = "openscore",
				    .munge_socket = getenv("SCORE_MUNGE_SOCKET")};
	const struct arguments arguments = {argc, argv, table, "", "scnoded"};
	int c;

	arguments_begin();
	while ((c = arguments_next(&arguments, why, why_size))) {
		const char **place = place_of(&o, c);

		if (place) {
			*place = optarg;
		} else if (c == 't') {
			o.is_transient = true;
		} else if (c == 'R') {
			o.has_no_remote = true;
		} else if (c == 'h') {
			fputs(usage, stdout);
			return 1;
		} else if (c == 'V') {
			puts("scnoded (OpenSCore) " PM_VERSION);
			return 1;
		} else {
			return c;
		}
	}
	c = complete(&o, why, why_size);
	if (c)
		section_fini(&o.section);
	else
		*ret = o;
	return c;
}

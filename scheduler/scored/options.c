// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/arguments.h"
#include "scheduler/gang/matrix.h"
#include "scheduler/proto/lock_request.h"
#include "scheduler/proto/slots.h"

#define ROWS 8
#define USER_LINKS 1024
#define USER_JOBS 1000
#define USER_MEMORY ((size_t)64 << 20)
#define USER_MEMORY_MIN ((size_t)4 << 20) /* holds the largest request twice */
#define USER_MOST 1000000
#define USER_LOCK_S 43200
#define USER_LOCK_MOST_S 31536000

static const struct option table[] = {
	{"config", required_argument, NULL, 'c'},
	{"listen", required_argument, NULL, 'l'},
	{"state", required_argument, NULL, 's'},
	{"munge-socket", required_argument, NULL, 'm'},
	{"operators", required_argument, NULL, 'o'},
	{"quantum", required_argument, NULL, 'q'},
	{"rows", required_argument, NULL, 'r'},
	{"user-connections", required_argument, NULL, 'L'},
	{"user-jobs", required_argument, NULL, 'J'},
	{"user-memory", required_argument, NULL, 'M'},
	{"user-lock-hosts", required_argument, NULL, 'H'},
	{"user-lock-time", required_argument, NULL, 'T'},
	{"private", no_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: scored [--config CLUSTER.JSON] [--listen [ADDRESS:]PORT] [--state DIR]\n"
	"              [--quantum TIME] [--rows N] [--operators USER,...]\n"
	"              [--user-connections N] [--user-jobs N] [--user-memory MIB]\n"
	"              [--user-lock-hosts N] [--user-lock-time SECONDS]\n"
	"              [--munge-socket PATH] [--private]\n"
	"Schedules the jobs of a cluster, see scored(8).\n";

/* "200ms", "1s", "0.5s" */
static int set_quantum(uint64_t *ret, const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text)
		return -EINVAL;
	if (!strcmp(end, "ms"))
		n /= 1000;
	else if (strcmp(end, "s") != 0)
		return -EINVAL;
	n *= 1e9;
	if (!(n >= SLOTS_QUANTUM_MIN_NS && n <= SLOTS_QUANTUM_MAX_NS))
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

static int set_number(uint32_t *ret, const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || n < min || n > max)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

static int set_memory(size_t *ret, const char *text)
{
	uint32_t mib;
	int err = set_number(&mib, text, USER_MEMORY_MIN >> 20, USER_MOST);

	if (!err)
		*ret = (size_t)mib << 20;
	return err;
}

/* The values that an option accepts, for the message about a wrong one. */
static const char *wanted(int c)
{
	switch (c) {
	case 'q':
		return "a time from 10ms to 10s";
	case 'r':
		return "a number from 1 to 64";
	case 'M':
		return "MiB, from 4 to 1000000";
	case 'T':
		return "seconds, from 5 to 31536000";
	default:
		return "a number from 1 to 1000000";
	}
}

static const char *name_of(int c)
{
	const struct option *o = table;

	while (o->name && o->val != c)
		o++;
	return o->name;
}

int scored_options_read(struct scored_options *ret, int argc, char **argv, char *why,
			size_t why_size)
{
	struct scored_options o = {.munge_socket = getenv("SCORE_MUNGE_SOCKET")};
	const struct arguments arguments = {argc, argv, table, "", "scored"};
	int c;

	arguments_begin();
	while ((c = arguments_next(&arguments, why, why_size))) {
		int err = 0;

		switch (c) {
		case 'c':
			o.config = optarg;
			break;
		case 'l':
			o.listen = optarg;
			break;
		case 's':
			o.state = optarg;
			break;
		case 'm':
			o.munge_socket = optarg;
			break;
		case 'o':
			o.operators = optarg;
			break;
		case 'q':
			err = set_quantum(&o.quantum_ns, optarg);
			break;
		case 'r':
			err = set_number(&o.rows, optarg, 1, MATRIX_ROWS_MAX);
			break;
		case 'L':
			err = set_number(&o.user_links, optarg, 1, USER_MOST);
			break;
		case 'J':
			err = set_number(&o.user_jobs, optarg, 1, USER_MOST);
			break;
		case 'M':
			err = set_memory(&o.user_memory, optarg);
			break;
		case 'H':
			err = set_number(&o.user_lock_hosts, optarg, 1, USER_MOST);
			break;
		case 'T':
			err = set_number(&o.user_lock_s, optarg, LOCK_LEASE_MIN_S,
					 USER_LOCK_MOST_S);
			break;
		case 'p':
			o.is_private = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		case 'V':
			puts("scored (OpenSCore) " PM_VERSION);
			return 1;
		default:
			return c;
		}
		if (err) {
			snprintf(why, why_size, "--%s %s: wanted is %s", name_of(c), optarg,
				 wanted(c));
			return err;
		}
	}
	*ret = o;
	return 0;
}

void scored_options_complete(struct scored_options *o, const struct section *section)
{
	static const struct section none;
	const struct section *said = section ? section : &none;

	if (!o->listen)
		o->listen = said->port ? said->port : SCORED_PORT;
	if (!o->state)
		o->state = said->state ? said->state : SCORED_STATE_DIRECTORY;
	if (!o->operators)
		o->operators = said->operators;
	if (!o->quantum_ns)
		o->quantum_ns = said->quantum_ns ? said->quantum_ns : SLOTS_QUANTUM_NS;
	if (!o->rows)
		o->rows = said->rows ? said->rows : ROWS;
	if (!o->user_links)
		o->user_links = USER_LINKS;
	if (!o->user_jobs)
		o->user_jobs = USER_JOBS;
	if (!o->user_memory)
		o->user_memory = USER_MEMORY;
	if (!o->user_lock_s)
		o->user_lock_s = USER_LOCK_S;
}

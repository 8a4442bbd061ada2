// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "pmcore/util/arguments.h"

static const struct option table[] = {
	{"connect", required_argument, NULL, 'c'},
	{"fd", required_argument, NULL, 'f'},
	{"sealed", no_argument, NULL, 's'},
	{"key", required_argument, NULL, 'k'},
	{"host", required_argument, NULL, 'n'},
	{"munge-socket", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: scremote --connect ADDRESS:PORT|PATH [--key KEY] [--host NAME]\n"
	"                [--munge-socket PATH]\n"
	"       scremote --fd N [--sealed] [--host NAME] [--munge-socket PATH]\n"
	"Starts commands on this host for scout(1), which starts it; see scremote(8).\n";

static int wrong(char *why, size_t why_size, const char *what, const char *text)
{
	snprintf(why, why_size, "%s %s; see scremote --help", what, text);
	return -EINVAL;
}

static int set_fd(struct scremote_options *o, char *why, size_t why_size)
{
	char *end;
	long n = strtol(optarg, &end, 10);

	if (end == optarg || *end || n < 0 || n > INT_MAX)
		return wrong(why, why_size, "--fd", "wants the number of an open connection");
	o->fd = (int)n;
	return 0;
}

static int take(struct scremote_options *o, int c, char *why, size_t why_size)
{
	switch (c) {
	case 'c':
		o->connect = optarg;
		return 0;
	case 'f':
		return set_fd(o, why, why_size);
	case 's':
		o->is_sealed = true;
		return 0;
	case 'k':
		o->key = optarg;
		return 0;
	case 'n':
		o->host = optarg;
		return 0;
	case 'm':
		o->munge_socket = optarg;
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 1;
	case 'V':
		puts("scremote (OpenSCore) " PM_VERSION);
		return 1;
	default:
		return c;
	}
}

int scremote_options_read(struct scremote_options *ret, int argc, char **argv, char *why,
			  size_t why_size)
{
	struct scremote_options o = {.fd = -1, .munge_socket = getenv("SCORE_MUNGE_SOCKET")};
	const struct arguments arguments = {argc, argv, table, "", "scremote"};
	int c, rc = 0;

	arguments_begin();
	while (!rc && (c = arguments_next(&arguments, why, why_size)))
		rc = take(&o, c, why, why_size);
	if (!rc && !o.connect == (o.fd < 0))
		rc = wrong(why, why_size, "wanted is either --connect or --fd", "(scout gives it)");
	if (!rc && o.is_sealed && o.fd < 0)
		rc = wrong(why, why_size, "--sealed is for --fd alone", "(scnoded gives both)");
	if (!rc)
		*ret = o;
	return rc;
}

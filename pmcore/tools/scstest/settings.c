// SPDX-License-Identifier: BSD-3-Clause
/* settings - options of scstest. */
#include "pmcore/tools/scstest/settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/options.h"

#define SPEC(...) OPTION_SPEC(struct settings, __VA_ARGS__)

static const struct option_spec specs[] = {
	SPEC("seconds", OPTION_SECONDS, seconds, "S", "time of traffic (default 10)"),
	SPEC("count", OPTION_COUNT, count, "N", "operations of each node instead of a time",
	     .min = 1, .max = 1000000000000),
	SPEC("max-size", OPTION_BYTES, max_size, "BYTES",
	     "of an operation, at most 4M (default 64K)", .min = 1, .max = SETTINGS_SIZE_MAX),
	SPEC("reads", OPTION_COUNT, reads, "PERCENT", "share of pmRead (default 15)", .max = 100),
	SPEC("writes", OPTION_COUNT, writes, "PERCENT", "share of pmWrite (default 15)",
	     .max = 100),
	SPEC("seed", OPTION_COUNT, seed, "N", "of all choices (default: by chance; it is printed)",
	     .max = UINT64_MAX - 1),
	SPEC("limit", OPTION_SECONDS, limit, "S", "longest silence of the others (default 10)"),
	SPEC("json", OPTION_FLAG, json, NULL, "one JSON object instead of a table"),
	SPEC("self", OPTION_FLAG, alone, NULL, "one node that talks to itself"),
	{.name = NULL},
};

static void print_help(void)
{
	puts("usage: mpirun -np N scstest [OPTION...]     under any PMIx launcher\n"
	     "Random datagrams, reads and writes between all nodes of the job; every byte, loss,\n"
	     "duplicates and order are checked.\n");
	options_help(specs);
	puts("\nExit status: 0 ok, 1 wrong arguments or no start, 2 wrong data, 3 node lost or "
	     "silent,\n"
	     "130 interrupted. PM_OPTIONS chooses devices and rails: pm_options(5).");
}

static int usage(const char *why)
{
	message_error("%s", why);
	return -EINVAL;
}

int settings_read(int argc, char **argv, struct settings *ret_settings)
{
	struct settings settings = {
		.max_size = 64 << 10, .reads = 15, .writes = 15, .seed = UINT64_MAX, .limit = 10};
	char why[OPTIONS_WHY];
	int n_words, rc;

	rc = options_parse(specs, &settings, argc, argv, &n_words, why);
	if (rc == -ECANCELED) {
		if (strcmp(why, "help") == 0)
			print_help();
		else
			puts("scstest " PM_VERSION);
		return rc;
	}
	if (rc)
		return usage(why);
	if (n_words)
		return usage("there is nothing but options: --help lists them");
	if (settings.count && settings.seconds > 0)
		return usage("--count and --seconds exclude each other");
	if (settings.reads + settings.writes > 100)
		return usage("--reads and --writes are more than 100 percent together");
	if (!settings.count && !(settings.seconds > 0))
		settings.seconds = 10;
	*ret_settings = settings;
	return 0;
}

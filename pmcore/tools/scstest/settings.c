// SPDX-License-Identifier: BSD-3-Clause
/* settings - options of scstest. */
#include "pmcore/tools/scstest/settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/options.h"

#define SPEC(...) OPTION_SPEC(struct settings, __VA_ARGS__)

static const struct option_spec specs[] = {
	SPEC("seconds", OPTION_SECONDS, seconds, "S", "time of traffic (default 10)"),
	SPEC("count", OPTION_COUNT, count, "N", "operations of each node instead of a time",
	     .min = 1, .max = 1000000000000),
	SPEC("pattern", OPTION_TEXT, pattern_text, "NAME",
	     "random, all-to-all or neighbour (default random)"),
	SPEC("dims", OPTION_TEXT, dims_text, "4x4x4",
	     "grid of the nodes, for neighbour (default: scrun's)"),
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
	     "Random datagrams, reads and writes between all nodes of the job, or between "
	     "neighbours\n"
	     "in a grid; every byte, loss, duplicates and order are checked.\n");
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

static int read_pattern(struct settings *settings)
{
	static const char *const names[] = {[PATTERN_RANDOM] = "random",
					    [PATTERN_ALL_TO_ALL] = "all-to-all",
					    [PATTERN_NEIGHBOUR] = "neighbour"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(settings->pattern_text, names[i]) == 0) {
			settings->pattern = (enum settings_pattern)i;
			return 0;
		}
	message_error("--pattern %s: random, all-to-all and neighbour are possible",
		      settings->pattern_text);
	return -EINVAL;
}

/* As it was given; else the one that scrun laid the ranks on. */
static int read_grid(struct settings *settings)
{
	const char *name = "--dims", *text = settings->dims_text;

	if (settings->pattern != PATTERN_NEIGHBOUR)
		return text ? usage("--dims is for --pattern neighbour") : 0;
	if (!text) {
		name = "SCORE_CART";
		text = getenv(name);
	}
	if (!text)
		return usage("--pattern neighbour: write --dims 4x4x4, or start it by scrun -map "
			     "cart=4x4x4");
	if (!exchange_read_grid(text, &settings->grid))
		return 0;
	message_error("%s %s: write 1 to %d extents as in 4x4x4", name, text, EXCHANGE_DIMS);
	return -EINVAL;
}

int settings_suit(const struct settings *settings, uint32_t nodes)
{
	char text[EXCHANGE_TEXT];

	if (!settings->grid.n_dims || exchange_volume(&settings->grid) == nodes)
		return 0;
	exchange_grid_text(&settings->grid, text);
	message_error(
		"a grid of %s has %llu nodes, the job has %u: give --dims with a product of %u",
		text, (unsigned long long)exchange_volume(&settings->grid), nodes, nodes);
	return -EINVAL;
}

int settings_read(int argc, char **argv, struct settings *ret_settings)
{
	struct settings settings = {.max_size = 64 << 10,
				    .reads = 15,
				    .writes = 15,
				    .seed = UINT64_MAX,
				    .limit = 10,
				    .pattern_text = "random"};
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
	rc = read_pattern(&settings);
	if (!rc)
		rc = read_grid(&settings);
	if (rc)
		return rc;
	if (!settings.count && !(settings.seconds > 0))
		settings.seconds = 10;
	*ret_settings = settings;
	return 0;
}

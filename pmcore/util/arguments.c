// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/arguments.h"

#include <errno.h>
#include <stdio.h>

#define LETTERS_MOST 16

static int wrong(const struct arguments *a, const char *word, const char *what, char *why,
		 size_t why_size)
{
	snprintf(why, why_size, "%s %s; see %s --help", word, what, a->program);
	return -EINVAL;
}

void arguments_begin(void)
{
	opterr = 0;
	optind = 0; /* From the first word on, also when the last reading ended within one. */
}

int arguments_next(const struct arguments *a, char *why, size_t why_size)
{
	/* In the given order: then the word that getopt_long() reads is the one at optind. */
	char in_order[LETTERS_MOST + 3];
	int at = optind ? optind : 1, option;

	snprintf(in_order, sizeof(in_order), "+:%s", a->letters);
	option = getopt_long(a->argc, a->argv, in_order, a->table, NULL);
	if (option == ':')
		return wrong(a, a->argv[at], "wants a value", why, why_size);
	/* optopt: of an option in words only if its value is what is wrong with it */
	if (option == '?' && optopt && a->argv[at][1] == '-')
		return wrong(a, a->argv[at], "has a value, and takes none", why, why_size);
	if (option == '?')
		return wrong(a, a->argv[at], "is no option", why, why_size);
	if (option != -1)
		return option;
	return optind < a->argc ? wrong(a, a->argv[optind], "is no option", why, why_size) : 0;
}

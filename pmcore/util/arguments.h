/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arguments - the options of a daemon's command line, one after the other. A daemon takes no other
 * words. They are read by getopt_long(3), whose state is the process's: one command line at a time.
 */
#ifndef PMCORE_UTIL_ARGUMENTS_H
#define PMCORE_UTIL_ARGUMENTS_H

#include <getopt.h>
#include <stddef.h>

/* Strings and table stay the caller's. */
struct arguments {
	int argc; /* as main() has them */
	char **argv;
	const struct option *table; /* options in words; their val is above 0, and no ':' or '?' */
	const char *letters; /* options of one letter, at most 16, without a value; "": none */
	const char *program; /* whose --help the user is told to see */
};

/* To be called before the first option is asked for. */
void arguments_begin(void);
/*
 * The val of the next option, its value in optarg. 0: there are no more. -EINVAL: the word that is
 * wrong, and why, is in @why.
 */
int arguments_next(const struct arguments *a, char *why, size_t why_size);

#endif

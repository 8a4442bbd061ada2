// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/arguments.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static const struct option table[] = {
	{"value", required_argument, NULL, 'v'},
	{"flag", no_argument, NULL, 'f'},
	{NULL, 0, NULL, 0},
};
static char why[128];

#define COMMAND(name, letters, ...)                                                                \
	const char *name##_argv[] = {"daemon", ##__VA_ARGS__, NULL};                               \
	const struct arguments name = {sizeof(name##_argv) / sizeof(*name##_argv) - 1,             \
				       (char **)name##_argv, table, letters, "daemon"};            \
	arguments_begin()

static int next(const struct arguments *a)
{
	why[0] = 0;
	return arguments_next(a, why, sizeof(why));
}

static void is_wrong(const struct arguments *a, const char *text)
{
	is_int(next(a), -EINVAL);
	is_str(why, text);
}

TAP_TEST(arguments__one_after_the_other)
{
	COMMAND(a, "h", "--flag", "--value", "1", "-h", "--value=2", "--fl");

	is_int(next(&a), 'f');
	is_int(next(&a), 'v');
	is_str(optarg, "1");
	is_int(next(&a), 'h');
	is_int(next(&a), 'v');
	is_str(optarg, "2");
	is_int(next(&a), 'f');
	is_int(next(&a), 0);
	is_int(next(&a), 0);
	is_str(why, "");
}

TAP_TEST(arguments__none)
{
	COMMAND(a, "");

	is_int(next(&a), 0);
}

TAP_TEST(arguments__two_dashes_end_them)
{
	COMMAND(a, "", "--flag", "--");
	COMMAND(b, "", "--", "--flag");

	is_int(next(&a), 'f');
	is_int(next(&a), 0);
	arguments_begin();
	is_wrong(&b, "--flag is no option; see daemon --help");
}

/* The word that is named is the one at fault, wherever getopt_long() is in it. */
TAP_TEST(arguments__what_is_wrong_is_named)
{
	COMMAND(word, "", "--flag", "more", "--flag");
	COMMAND(unknown, "", "--value", "1", "--colour=red");
	COMMAND(valueless, "", "--flag", "--value");
	COMMAND(valued, "", "--flag=1");
	COMMAND(letters, "h", "-hx");

	arguments_begin();
	is_int(next(&word), 'f');
	is_wrong(&word, "more is no option; see daemon --help");
	arguments_begin();
	is_int(next(&unknown), 'v');
	is_wrong(&unknown, "--colour=red is no option; see daemon --help");
	arguments_begin();
	is_int(next(&valueless), 'f');
	is_wrong(&valueless, "--value wants a value; see daemon --help");
	arguments_begin();
	is_wrong(&valued, "--flag=1 has a value, and takes none; see daemon --help");
	arguments_begin();
	is_int(next(&letters), 'h');
	is_wrong(&letters, "-hx is no option; see daemon --help");
}

/* A reading may be given up within a word of several letters. */
TAP_TEST(arguments__begin_anew)
{
	COMMAND(a, "hx", "-hx", "--flag");
	COMMAND(b, "hx", "--value", "3");

	arguments_begin();
	is_int(next(&a), 'h');
	arguments_begin();
	is_int(next(&b), 'v');
	is_str(optarg, "3");
	is_int(next(&b), 0);
	arguments_begin();
	is_int(next(&a), 'h');
	is_int(next(&a), 'x');
	is_int(next(&a), 'f');
	is_int(next(&a), 0);
}

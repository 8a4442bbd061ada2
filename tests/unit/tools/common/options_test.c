// SPDX-License-Identifier: BSD-3-Clause
/* options - readers of values, lists of sizes, and the parser over a table. */
#include "pmcore/tools/common/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(options_read_count__units)
{
	uint64_t value = 7;

	is_int(options_read_count("0", 1000, &value), 0);
	is_int(value, 0);
	is_int(options_read_count("12k", 1000, &value), 0);
	is_int(value, 12000);
	is_int(options_read_count("4M", 1024, &value), 0);
	is_int(value, 4 << 20);
	is_int(options_read_count("18446744073709551615", 1000, &value), 0);
	ok(value == UINT64_MAX);
}

TAP_TEST(options_read_count__refuses_what_is_no_number)
{
	static const char *const wrong[] = {"",
					    " 1",
					    "-1",
					    "+1",
					    "1x",
					    "1kk",
					    "k",
					    "1.5",
					    "18446744073709551616",
					    "18446744073709551615k"};
	uint64_t value = 7;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		okf(options_read_count(wrong[i], 1000, &value) == -EINVAL, "\"%s\"", wrong[i]);
	is_int(value, 7);
}

TAP_TEST(options_read_seconds__values)
{
	double value = 7;

	is_int(options_read_seconds("0.5", &value), 0);
	ok(value == 0.5);
	is_int(options_read_seconds("2s", &value), 0);
	ok(value == 2);
	is_int(options_read_seconds("0", &value), -EINVAL);
	is_int(options_read_seconds("-1", &value), -EINVAL);
	is_int(options_read_seconds("inf", &value), -EINVAL);
	is_int(options_read_seconds("2m", &value), -EINVAL);
	ok(value == 2);
}

TAP_TEST(options_read_sizes__list_and_range)
{
	static const uint64_t want[] = {7, 0, 1, 2, 4, 5, 65536};
	struct option_sizes sizes;
	char why[OPTIONS_WHY];

	must(options_read_sizes("7,0:5,64K", 1 << 20, &sizes, why) == 0);
	must(is_int(sizes.count, 7));
	is_mem(sizes.size, want, sizeof(want));
}

TAP_TEST(options_read_sizes__range_of_one)
{
	struct option_sizes sizes;
	char why[OPTIONS_WHY];

	must(options_read_sizes("8:8", 8, &sizes, why) == 0);
	is_int(sizes.count, 1);
	is_int(sizes.size[0], 8);
}

TAP_TEST(options_read_sizes__says_what_is_wrong)
{
	struct option_sizes sizes = {.count = 3};
	char why[OPTIONS_WHY];

	is_int(options_read_sizes("8,x", 100, &sizes, why), -EINVAL);
	ok(strstr(why, "\"x\"") != NULL);
	is_int(options_read_sizes("8,", 100, &sizes, why), -EINVAL);
	is_int(options_read_sizes("9:8", 100, &sizes, why), -EINVAL);
	ok(strstr(why, "9:8") != NULL);
	is_int(options_read_sizes("101", 100, &sizes, why), -EINVAL);
	ok(strstr(why, "at most 100") != NULL);
	is_int(sizes.count, 3);
}

TAP_TEST(options_read_sizes__too_many)
{
	struct option_sizes sizes = {.count = 0};
	char why[OPTIONS_WHY], text[3 * OPTIONS_SIZES_MAX];

	for (int i = 0; i < OPTIONS_SIZES_MAX; i++)
		memcpy(text + 2 * i, "1,", 2);
	text[2 * OPTIONS_SIZES_MAX - 1] = '\0';
	is_int(options_read_sizes(text, 8, &sizes, why), 0);
	is_int(sizes.count, OPTIONS_SIZES_MAX);
	strcat(text, ",1");
	is_int(options_read_sizes(text, 8, &sizes, why), -EINVAL);
}

struct fields {
	bool flag;
	uint64_t count, bytes;
	double seconds;
	const char *text, *maybe;
};

#define SPEC(...) OPTION_SPEC(struct fields, __VA_ARGS__)

static const struct option_spec specs[] = {
	SPEC("flag", OPTION_FLAG, flag, NULL, ""),
	SPEC("count", OPTION_COUNT, count, "N", "", .min = 2, .max = 10000),
	SPEC("bytes", OPTION_BYTES, bytes, "N", ""),
	SPEC("seconds", OPTION_SECONDS, seconds, "S", ""),
	SPEC("text", OPTION_TEXT, text, "T", ""),
	SPEC("maybe", OPTION_MAYBE, maybe, "T", ""),
	{.name = NULL},
};

#define WORDS 16

/* A command line made of a text; the words stay valid until the next call. */
static char line[256];
static char *argv[WORDS];

static int parse(struct fields *fields, const char *text, int *ret_n_words, char *why)
{
	char *rest = line;
	int argc = 0;

	snprintf(line, sizeof(line), "tool %s", text);
	while (argc < WORDS && (argv[argc] = strsep(&rest, " ")))
		argc++;
	return options_parse(specs, fields, argc, argv, ret_n_words, why);
}

TAP_TEST(options_parse__all_kinds)
{
	struct fields f = {.flag = false};
	char why[OPTIONS_WHY];
	int n;

	must(parse(&f, "one --flag --count=3k --bytes 2K two --seconds 0.25 --text=a=b --maybe", &n,
		   why) == 0);
	ok(f.flag);
	is_int(f.count, 3000);
	is_int(f.bytes, 2048);
	ok(f.seconds == 0.25);
	is_str(f.text, "a=b");
	is_str(f.maybe, "");
	must(is_int(n, 2));
	is_str(argv[1], "one");
	is_str(argv[2], "two");
}

TAP_TEST(options_parse__refusals_name_the_option)
{
	static const char *const wrong[] = {"--bogus",       "-x",
					    "--flag=1",      "--count",
					    "--count 1",     "--count x",
					    "--count=10001", "--seconds=never"};
	char why[OPTIONS_WHY];
	int n;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fields f = {.count = 5};

		okf(parse(&f, wrong[i], &n, why) == -EINVAL, "%s is taken", wrong[i]);
		okf(memmem(why, strlen(why), wrong[i], strcspn(wrong[i], "= ")) != NULL, "%s: %s",
		    wrong[i], why);
		is_int(f.count, 5);
	}
}

TAP_TEST(options_parse__help_is_the_callers)
{
	struct fields f = {.flag = false};
	char why[OPTIONS_WHY];
	int n;

	is_int(parse(&f, "--help", &n, why), -ECANCELED);
	is_str(why, "help");
}

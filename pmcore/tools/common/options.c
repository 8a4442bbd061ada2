// SPDX-License-Identifier: BSD-3-Clause
/* options - the parser over a table, and readers of values. */
#include "pmcore/tools/common/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, OPTIONS_WHY, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int suffix_power(const char *suffix)
{
	if (!*suffix)
		return 0;
	if (suffix[1])
		return -1;
	switch (tolower((unsigned char)*suffix)) {
	case 'k':
		return 1;
	case 'm':
		return 2;
	case 'g':
		return 3;
	default:
		return -1;
	}
}

int options_read_count(const char *text, uint64_t unit, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;
	int power;

	if (!isdigit((unsigned char)*text))
		return -EINVAL; /* strtoull takes signs and spaces */
	errno = 0;
	value = strtoull(text, &end, 10);
	power = suffix_power(end);
	if (errno || power < 0)
		return -EINVAL;
	while (power-- > 0)
		if (__builtin_mul_overflow(value, unit, &value))
			return -EINVAL;
	*ret_value = value;
	return 0;
}

int options_read_seconds(const char *text, double *ret_value)
{
	double value;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "s") != 0) || !(value > 0) || value > 1e6)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int add_size(struct option_sizes *sizes, uint64_t size, uint64_t max, char *why)
{
	if (size > max)
		return refuse(why, "size %" PRIu64 ": at most %" PRIu64 " bytes are possible", size,
			      max);
	if (sizes->count == OPTIONS_SIZES_MAX)
		return refuse(why, "more than %d sizes", OPTIONS_SIZES_MAX);
	sizes->size[sizes->count++] = size;
	return 0;
}

/* FROM, 2 FROM, 4 FROM, ... TO; 0 is followed by 1. */
static int add_range(struct option_sizes *sizes, uint64_t from, uint64_t to, uint64_t max,
		     char *why)
{
	int rc = 0;

	if (from > to)
		return refuse(why, "sizes %" PRIu64 ":%" PRIu64 ": write the smaller one first",
			      from, to);
	for (uint64_t size = from; size < to && !rc; size = size ? size * 2 : 1)
		rc = add_size(sizes, size, max, why);
	return rc ? rc : add_size(sizes, to, max, why);
}

static int add_item(struct option_sizes *sizes, char *item, uint64_t max, char *why)
{
	char *colon = strchr(item, ':');
	uint64_t from, to;

	if (colon)
		*colon = '\0';
	if (options_read_count(item, 1024, &from) ||
	    (colon && options_read_count(colon + 1, 1024, &to)))
		return refuse(why, "size \"%s%s%s\": write bytes as in 8, 64K or 1:4M", item,
			      colon ? ":" : "", colon ? colon + 1 : "");
	return colon ? add_range(sizes, from, to, max, why) : add_size(sizes, from, max, why);
}

int options_read_sizes(const char *text, uint64_t max, struct option_sizes *ret_sizes, char *why)
{
	struct option_sizes sizes = {.count = 0};
	char copy[512], *rest = copy, *item;
	int rc = 0;

	if (strlen(text) >= sizeof(copy))
		return refuse(why, "list of sizes is too long");
	strcpy(copy, text);
	while (!rc && (item = strsep(&rest, ",")))
		rc = add_item(&sizes, item, max, why);
	if (!rc)
		*ret_sizes = sizes;
	return rc;
}

static int set_number(const struct option_spec *spec, uint64_t *field, const char *value, char *why)
{
	uint64_t unit = spec->kind == OPTION_BYTES ? 1024 : 1000, number;
	uint64_t max = spec->max ? spec->max : UINT64_MAX;

	if (options_read_count(value, unit, &number))
		return refuse(why, "--%s %s: write a number, k, M and G may follow", spec->name,
			      value);
	if (number < spec->min || number > max)
		return refuse(why, "--%s %s: %" PRIu64 " to %" PRIu64 " are possible", spec->name,
			      value, spec->min, max);
	*field = number;
	return 0;
}

static int set_value(const struct option_spec *spec, void *into, const char *value, char *why)
{
	void *field = (char *)into + spec->offset;

	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_COUNT:
	case OPTION_BYTES:
		return set_number(spec, field, value, why);
	case OPTION_SECONDS:
		if (options_read_seconds(value, field))
			return refuse(why, "--%s %s: write seconds as in 2 or 0.5", spec->name,
				      value);
		return 0;
	case OPTION_SIZES:
		return options_read_sizes(value, spec->max, field, why);
	case OPTION_TEXT:
	case OPTION_MAYBE:
		*(const char **)field = value;
		return 0;
	}
	return -EINVAL;
}

static const struct option_spec *find(const struct option_spec *specs, const char *name, size_t len)
{
	for (; specs->name; specs++)
		if (strlen(specs->name) == len && memcmp(specs->name, name, len) == 0)
			return specs;
	return NULL;
}

/* One "--name", "--name=value" or "--name value" at argv[*at]. */
static int parse_one(const struct option_spec *specs, void *into, int argc, char **argv, int *at,
		     char *why)
{
	const char *word = argv[*at] + 2, *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);
	const struct option_spec *spec = find(specs, word, len);

	if (!spec)
		return refuse(why, "unknown option %s: --help lists them", argv[*at]);
	if (value)
		value++;
	if (spec->kind == OPTION_FLAG && value)
		return refuse(why, "--%s takes no value", spec->name);
	if (spec->kind == OPTION_MAYBE && !value)
		value = "";
	if (spec->kind != OPTION_FLAG && !value) {
		if (*at + 1 >= argc)
			return refuse(why, "--%s: %s is missing", spec->name, spec->value);
		value = argv[++*at];
	}
	return set_value(spec, into, value, why);
}

int options_parse(const struct option_spec *specs, void *into, int argc, char **argv,
		  int *ret_n_words, char *why)
{
	int n_words = 0, rc;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0) {
			snprintf(why, OPTIONS_WHY, "%s", argv[i] + 2);
			return -ECANCELED;
		}
		if (strncmp(argv[i], "--", 2) != 0) {
			if (argv[i][0] == '-')
				return refuse(why, "unknown option %s: --help lists them", argv[i]);
			argv[++n_words] = argv[i];
			continue;
		}
		rc = parse_one(specs, into, argc, argv, &i, why);
		if (rc)
			return rc;
	}
	*ret_n_words = n_words;
	return 0;
}

void options_help(const struct option_spec *specs)
{
	char left[64];

	for (; specs->name; specs++) {
		if (specs->kind == OPTION_MAYBE)
			snprintf(left, sizeof(left), "--%s[=%s]", specs->name, specs->value);
		else
			snprintf(left, sizeof(left), "--%s %s", specs->name,
				 specs->value ? specs->value : "");
		printf("  %-26s %s\n", left, specs->help);
	}
	printf("  %-26s %s\n", "--help, --version", "this text; the version");
}

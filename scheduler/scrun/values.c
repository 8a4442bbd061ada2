// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/job.h"

#define TIME_MAX_S 1e9
#define WORD_MAX 32 /* longer ones are near to nothing */

int value_number(int64_t *ret, const char *text, int64_t min, int64_t max)
{
	char *end;
	long long n;

	if (!isdigit((unsigned char)*text) && *text != '-')
		return -EINVAL;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end || errno || n < min || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

int value_time(double *ret, const char *text)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	double n;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	n = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		n *= units[i].seconds;
		if (!(n > 0 && n <= TIME_MAX_S))
			return -EINVAL;
		*ret = n;
		return 0;
	}
	return -EINVAL;
}

int value_size(uint64_t *ret, const char *text, uint64_t min, uint64_t max)
{
	static const char units[] = "KMGT";
	const char *unit;
	double n, scale = 1;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	n = strtod(text, &end);
	unit = *end ? strchr(units, *end) : NULL;
	if (*end && (!unit || end[1]))
		return -EINVAL;
	for (const char *each = units; unit && each <= unit; each++)
		scale *= 1024;
	n *= scale;
	if (!(n >= (double)min && n <= (double)max))
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

int value_shape(uint32_t *nodes, uint32_t *per_node, const char *text)
{
	char *end;
	unsigned long n, each = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	n = strtoul(text, &end, 10);
	if (*end == 'x') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		each = strtoul(end + 1, &end, 10);
		if (!each || each > JOB_RANKS_MAX)
			return -EINVAL;
	}
	if (*end || !n || n > JOB_RANKS_MAX)
		return -EINVAL;
	*nodes = (uint32_t)n;
	*per_node = (uint32_t)each;
	return 0;
}

int value_grid(uint32_t *ret, uint32_t *n, uint32_t room, const char *text)
{
	uint32_t numbers[16], found = 0;

	do {
		char *end;
		unsigned long number;

		if (found == room || found == 16 || !isdigit((unsigned char)*text))
			return -EINVAL;
		number = strtoul(text, &end, 10);
		if (!number || number > JOB_RANKS_MAX || (*end && *end != 'x'))
			return -EINVAL;
		numbers[found++] = (uint32_t)number;
		text = *end ? end + 1 : end;
		if (*end && !*text)
			return -EINVAL;
	} while (*text);
	memcpy(ret, numbers, found * sizeof(*ret));
	*n = found;
	return 0;
}

int value_choice(int *ret, const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], text)) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Letters to change, add, drop or swap with the next one. Both words are at most WORD_MAX long. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	return d[n][m];
}

const char *value_nearest(const char *word, const char *const *names, size_t n)
{
	size_t length = strlen(word), best = length / 3 + 2;
	const char *nearest = NULL;

	if (length > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool begins = length >= 3 && !strncmp(names[i], word, length);
		size_t far = begins ? 1 : distance(word, names[i]);

		if (strlen(names[i]) <= WORD_MAX && far < best) {
			best = far;
			nearest = names[i];
		}
	}
	return nearest;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as files below /proc, in which users have named processes and files. A line that is let
 * through is in range and lies within the bytes; one that is refused changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/holdings/procline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

/* With a zero byte behind it. */
static char *copy(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	return text;
}

/* Whether all bytes of @ret are those that it was filled with. */
static bool is_untouched(const void *ret, size_t size)
{
	const uint8_t *byte = ret;

	while (size && *byte == 0xa5) {
		byte++;
		size--;
	}
	return !size;
}

static void check_stat(const char *line)
{
	struct procline_stat s;

	memset(&s, 0xa5, sizeof(s));
	if (!procline_stat(line, &s)) {
		require(is_untouched(&s, sizeof(s)));
		return;
	}
	require(memchr(s.name, 0, sizeof(s.name)) != NULL);
	require(s.state && s.parent >= 0 && s.session >= 0 && s.terminal >= 0);
}

static void check_status(const char *text)
{
	struct procline_status s;

	memset(&s, 0xa5, sizeof(s));
	if (procline_status(text, &s))
		require(s.state && s.tracer >= 0);
	else
		require(is_untouched(&s, sizeof(s)));
}

static void check_watch(const char *line)
{
	struct procline_watch w;

	memset(&w, 0xa5, sizeof(w));
	if (procline_watch(line, &w))
		require(w.target >= 0);
	else
		require(is_untouched(&w, sizeof(w)));
}

/* The line is written to, so it is a copy. */
static void check_mapping(const uint8_t *data, size_t size)
{
	char *line = copy(data, size);
	struct procline_mapping m;

	memset(&m, 0xa5, sizeof(m));
	if (procline_mapping(line, &m)) {
		require(m.end > m.start);
		require(m.name >= line && m.name + strlen(m.name) <= line + size);
	} else {
		require(is_untouched(&m, sizeof(m)));
	}
	free(line);
}

static void check_mount(const char *line)
{
	struct procline_mount m;

	memset(&m, 0xa5, sizeof(m));
	if (procline_mount(line, &m))
		require(m.id >= 0);
	else
		require(is_untouched(&m, sizeof(m)));
}

static void check_netlink(const char *line)
{
	struct procline_netlink n;

	memset(&n, 0xa5, sizeof(n));
	if (!procline_netlink(line, &n))
		require(is_untouched(&n, sizeof(n)));
}

static void check_name(const char *name)
{
	static const char *const kinds[] = {"pipe", "socket"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (procline_inode(name, kinds[i]))
			require(!strncmp(name, kinds[i], strlen(kinds[i])) &&
				name[strlen(name) - 1] == ']');
}

static void check_line(const uint8_t *data, size_t size, struct procline_fdinfo *sum)
{
	char *line = copy(data, size);

	check_stat(line);
	check_watch(line);
	check_mapping(data, size);
	check_mount(line);
	check_netlink(line);
	check_name(line);
	procline_fdinfo(line, sum);
	require(sum->mount >= 0 && sum->target >= -1);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procline_fdinfo sum = {.offset = 0};
	char *text = copy(data, size);
	uint32_t lines = 0;

	/* The whole as well: a name of a process may have ends of lines in it. */
	check_stat(text);
	check_status(text);
	free(text);
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) : size;

		check_line(data, n, &sum);
		lines++;
		data += n + (end != NULL);
		size -= n + (end != NULL);
	}
	require(sum.watches <= lines);
	return 0;
}

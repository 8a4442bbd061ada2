// SPDX-License-Identifier: BSD-3-Clause
/* merge: equal lines once, with the order of each rank's lines kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scrun/merge.h"
#include "tests/harness/tap.h"

struct heard {
	char text[4096];
};

static void hear(int stream, const char *who, const char *line, size_t size, void *owner)
{
	struct heard *heard = owner;
	size_t n = strlen(heard->text);

	snprintf(heard->text + n, sizeof(heard->text) - n, "%d[%s]%.*s ", stream, who, (int)size,
		 line);
}

static void add(struct merge *merge, uint32_t rank, const char *line)
{
	is_int(merge_add(merge, rank, 1, line, strlen(line)), 0);
}

TAP_TEST(merge_add__equal_lines_become_one)
{
	struct merge *merge = merge_open();
	struct heard heard = {0};

	for (uint32_t rank = 8; rank--;)
		add(merge, rank, "hello");
	add(merge, 3, "odd");
	is_int(merge_flush(merge, hear, &heard), 0);
	is_str(heard.text, "1[0-7]hello 1[3]odd ");
	is_int(merge_size(merge), 0);
	merge_close(merge);
}

TAP_TEST(merge_add__order_of_a_rank_stays)
{
	struct merge *merge = merge_open();
	struct heard heard = {0};

	add(merge, 0, "a");
	add(merge, 0, "b");
	add(merge, 0, "a");
	add(merge, 1, "b");
	add(merge, 1, "a");
	add(merge, 2, "a");
	merge_flush(merge, hear, &heard);
	is_str(heard.text, "1[0,2]a 1[0-1]b 1[0-1]a ");
	merge_close(merge);
}

TAP_TEST(merge_add__streams_do_not_mix)
{
	struct merge *merge = merge_open();
	struct heard heard = {0};

	merge_add(merge, 0, 1, "x", 1);
	merge_add(merge, 1, 2, "x", 1);
	merge_flush(merge, hear, &heard);
	is_str(heard.text, "1[0]x 2[1]x ");
	merge_close(merge);
}

TAP_TEST(merge_add__order_between_streams_does_not_matter)
{
	struct merge *merge = merge_open();
	struct heard heard = {0};

	merge_add(merge, 0, 1, "x", 1);
	merge_add(merge, 1, 2, "y", 1);
	merge_add(merge, 1, 1, "x", 1);
	merge_flush(merge, hear, &heard);
	is_str(heard.text, "1[0-1]x 2[1]y ");
	merge_close(merge);
}

TAP_TEST(merge_flush__begins_anew)
{
	struct merge *merge = merge_open();
	struct heard heard = {0};

	add(merge, 5, "x");
	merge_flush(merge, hear, &heard);
	add(merge, 5, "x");
	add(merge, 1000, "x");
	add(merge, 999, "x");
	merge_flush(merge, hear, &heard);
	is_str(heard.text, "1[5]x 1[5,999-1000]x ");
	merge_close(merge);
}

/* The output of each rank, in its order. It must be possible to read it from the merged lines. */
struct replay {
	char said[4][2048];
};

static void replay(int stream, const char *who, const char *line, size_t size, void *owner)
{
	struct replay *r = owner;

	for (const char *at = who; *at;) {
		long first = strtol(at, (char **)(uintptr_t)&at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, (char **)(uintptr_t)&at, 10);
		at += *at == ',';
		for (long rank = first; rank <= last; rank++)
			strncat(r->said[rank], line, size);
	}
}

TAP_TEST(merge_flush__nothing_is_lost_or_turned_round)
{
	uint64_t state = tap_seed();

	for (int round = 0; round < 500; round++) {
		struct merge *merge = merge_open();
		struct replay want = {0}, got = {0};

		for (int i = 0; i < 200; i++) {
			uint32_t rank = (uint32_t)(tap_rand(&state) % 4);
			char line[] = {(char)('a' + tap_rand(&state) % 3), 0};

			add(merge, rank, line);
			strcat(want.said[rank], line);
		}
		merge_flush(merge, replay, &got);
		for (int rank = 0; rank < 4; rank++)
			is_str(got.said[rank], want.said[rank]);
		merge_close(merge);
	}
}

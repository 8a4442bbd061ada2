// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/gang/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fold_hosts(const struct fold_grid *processes, uint32_t per_host, struct fold_grid *ret)
{
	uint32_t left = per_host;

	*ret = *processes;
	for (uint32_t i = processes->n_dims; i-- && left > 1;) {
		if (left % ret->dims[i] == 0) {
			left /= ret->dims[i];
			ret->dims[i] = 1;
		} else if (ret->dims[i] % left == 0) {
			ret->dims[i] /= left;
			left = 1;
		} else {
			return -EINVAL;
		}
	}
	return left == 1 ? 0 : -EINVAL;
}

/* ---- the ways ---- */

struct search {
	const struct fold_grid *hosts;
	const struct box_space *space;
	struct fold now, *ret;
	size_t n, room;
};

/* How often a dimension of the one is laid over several of the other, either way. */
static uint32_t splits(const struct fold *fold)
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < BOX_DIMS; d++) {
		uint32_t on_one = 0;

		for (uint32_t i = 0; i < fold->n_dims; i++)
			on_one += fold->digit[i][d] > 1;
		/* Counted twice where they share: as digits, and as sharers of the same cards. */
		n += on_one ? 2 * on_one - 1 : 0;
	}
	return n;
}

static int by_splits(const void *a, const void *b)
{
	uint32_t x = splits(a), y = splits(b);

	return x != y ? (x > y) - (x < y) : memcmp(b, a, sizeof(struct fold));
}

/*
 * Gives digits to dimension @i of the grid from dimension @d of the network on; @left of it are to
 * be given.
 */
static void give(struct search *s, uint32_t i, uint32_t d, uint32_t left)
{
	if (s->n == s->room)
		return;
	if (i == s->hosts->n_dims) {
		s->ret[s->n++] = s->now;
		return;
	}
	if (d == s->space->n_dims) {
		if (left == 1)
			give(s, i + 1, 0, i + 1 < s->hosts->n_dims ? s->hosts->dims[i + 1] : 1);
		return;
	}
	/* Whole dimensions first: the search may end before it has seen all. */
	for (uint32_t e = left; e >= 1; e--) {
		uint32_t before = s->now.shape.extent[d];

		if (left % e || before * e > s->space->dims[d])
			continue;
		s->now.digit[i][d] = e;
		s->now.shape.extent[d] = before * e;
		give(s, i, d + 1, left / e);
		s->now.digit[i][d] = 1;
		s->now.shape.extent[d] = before;
	}
}

size_t fold_ways(const struct fold_grid *hosts, const struct box_space *space, struct fold *ret,
		 size_t room)
{
	struct search s = {.hosts = hosts, .space = space, .ret = ret, .room = room};

	s.now.n_dims = hosts->n_dims;
	for (uint32_t d = 0; d < BOX_DIMS; d++) {
		s.now.shape.extent[d] = 1;
		for (uint32_t i = 0; i < FOLD_DIMS; i++)
			s.now.digit[i][d] = 1;
	}
	give(&s, 0, 0, hosts->dims[0]);
	qsort(ret, s.n, sizeof(*ret), by_splits);
	return s.n;
}

/* ---- one host ---- */

/*
 * Writes the digits of @position, reflected: a digit runs backwards while the digits above it are
 * odd in sum.
 */
static void count_reflected(const uint32_t radix[BOX_DIMS], uint32_t position,
			    uint32_t ret[BOX_DIMS])
{
	uint32_t below = 1;
	bool is_backwards = false;

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		below *= radix[d];
	for (uint32_t d = 0; d < BOX_DIMS; d++) {
		uint32_t digit;

		below /= radix[d];
		digit = position / below;
		position %= below;
		ret[d] = is_backwards ? radix[d] - 1 - digit : digit;
		is_backwards ^= ret[d] & 1;
	}
}

void fold_place(const struct fold_grid *hosts, const struct fold *fold, uint32_t k,
		uint32_t ret[BOX_DIMS])
{
	uint32_t digits[BOX_DIMS];

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		ret[d] = 0;
	/* From the last dimension of the grid, which is the fastest in k. */
	for (uint32_t i = hosts->n_dims; i--;) {
		count_reflected(fold->digit[i], k % hosts->dims[i], digits);
		k /= hosts->dims[i];
		for (uint32_t d = 0; d < BOX_DIMS; d++) {
			uint32_t below = 1;

			for (uint32_t j = i + 1; j < hosts->n_dims; j++)
				below *= fold->digit[j][d];
			ret[d] += digits[d] * below;
		}
	}
}

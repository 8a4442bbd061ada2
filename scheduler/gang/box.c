// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/gang/box.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t box_volume(const struct box_shape *shape)
{
	uint32_t n = 1;

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		n *= shape->extent[d];
	return n;
}

void box_coordinates(const struct box_space *space, uint32_t point, uint32_t ret[BOX_DIMS])
{
	for (uint32_t d = space->n_dims; d < BOX_DIMS; d++)
		ret[d] = 0;
	for (uint32_t d = space->n_dims; d--;) {
		ret[d] = point % space->dims[d];
		point /= space->dims[d];
	}
}

static uint32_t point_at(const struct box_space *space, const uint32_t at[BOX_DIMS])
{
	uint32_t point = 0;

	for (uint32_t d = 0; d < space->n_dims; d++)
		point = point * space->dims[d] + at[d];
	return point;
}

uint32_t box_point(const struct box_space *space, const struct box *box,
		   const uint32_t at[BOX_DIMS])
{
	uint32_t coordinates[BOX_DIMS] = {0};

	for (uint32_t d = 0; d < space->n_dims; d++)
		coordinates[d] = box->at[d][at[d]];
	return point_at(space, coordinates);
}

/* ---- shapes ---- */

/*
 * Relays on the mean way of a box: a coordinate of e points differs in (e - 1) of e cases. In
 * 1/1000.
 */
static uint32_t hops(const struct box_shape *shape)
{
	uint32_t sum = 0;

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		sum += 1000 - 1000 / shape->extent[d];
	return sum;
}

static int by_hops(const void *a, const void *b)
{
	uint32_t x = hops(a), y = hops(b);

	return x != y ? (x > y) - (x < y) : memcmp(b, a, sizeof(struct box_shape));
}

struct shapes {
	const struct box_space *space;
	struct box_shape now, *ret;
	size_t n, room;
};

static void factor(struct shapes *s, uint32_t d, uint32_t left)
{
	if (d == s->space->n_dims) {
		if (left == 1 && s->n < s->room)
			s->ret[s->n++] = s->now;
		return;
	}
	for (uint32_t e = 1; e <= s->space->dims[d] && e <= left; e++)
		if (left % e == 0) {
			s->now.extent[d] = e;
			factor(s, d + 1, left / e);
		}
}

size_t box_shapes(const struct box_space *space, uint32_t n, struct box_shape *ret, size_t room)
{
	struct shapes s = {.space = space, .ret = ret, .room = room};

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		s.now.extent[d] = 1;
	if (n)
		factor(&s, 0, n);
	qsort(ret, s.n, sizeof(*ret), by_hops);
	return s.n;
}

/* ---- finding ---- */

/* The part of the space that is left while coordinates are taken away. */
struct rest {
	const struct box_space *space;
	const bool *is_free;
	uint32_t n[BOX_DIMS]; /* coordinates left */
	uint32_t points;      /* product of these */
	bool is_out[BOX_DIMS][BOX_LINE_MAX];
	uint32_t taken[BOX_DIMS][BOX_LINE_MAX]; /* points of the slice that are left and not free */
	uint32_t n_taken;
};

static bool is_left(const struct rest *r, const uint32_t at[BOX_DIMS])
{
	for (uint32_t d = 0; d < r->space->n_dims; d++)
		if (r->is_out[d][at[d]])
			return false;
	return true;
}

static void count(struct rest *r, const uint32_t at[BOX_DIMS], int32_t by)
{
	for (uint32_t d = 0; d < r->space->n_dims; d++)
		r->taken[d][at[d]] += (uint32_t)by;
	r->n_taken += (uint32_t)by;
}

static void begin(struct rest *r)
{
	uint32_t at[BOX_DIMS], n = 1;

	for (uint32_t d = 0; d < r->space->n_dims; d++) {
		r->n[d] = r->space->dims[d];
		n *= r->n[d];
	}
	r->points = n;
	for (uint32_t p = 0; p < n; p++)
		if (!r->is_free[p]) {
			box_coordinates(r->space, p, at);
			count(r, at, 1);
		}
}

/* Takes the slice of coordinate @c away. */
static void take_out(struct rest *r, uint32_t d, uint32_t c)
{
	uint32_t below = 1, above = 1, at[BOX_DIMS];

	for (uint32_t i = d + 1; i < r->space->n_dims; i++)
		below *= r->space->dims[i];
	for (uint32_t i = 0; i < d; i++)
		above *= r->space->dims[i];
	for (uint32_t a = 0; a < above && r->taken[d][c]; a++)
		for (uint32_t b = 0; b < below; b++) {
			uint32_t p = (a * r->space->dims[d] + c) * below + b;

			if (r->is_free[p])
				continue;
			box_coordinates(r->space, p, at);
			if (is_left(r, at))
				count(r, at, -1);
		}
	r->is_out[d][c] = true;
	r->points -= r->points / r->n[d];
	r->n[d]--;
}

/*
 * The coordinate that costs most: the largest share of its slice is not free; of equals the
 * highest, so that what is kept lies together at the low end. False: all dimensions are as small as
 * they may be.
 */
static bool worst(const struct rest *r, const struct box_shape *shape, uint32_t *ret_d,
		  uint32_t *ret_c)
{
	double most = -1;

	for (uint32_t d = 0; d < r->space->n_dims; d++) {
		if (r->n[d] == shape->extent[d])
			continue;
		for (uint32_t c = r->space->dims[d]; c--;) {
			double share = (double)r->taken[d][c] * r->n[d] / r->points;

			if (!r->is_out[d][c] && share > most) {
				most = share;
				*ret_d = d;
				*ret_c = c;
			}
		}
	}
	return most >= 0;
}

int box_find(const struct box_space *space, const bool *is_free, const struct box_shape *shape,
	     struct box *ret)
{
	struct rest *r;
	uint32_t d, c;

	for (d = 0; d < space->n_dims; d++)
		if (shape->extent[d] > space->dims[d])
			return -ENOENT;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->space = space;
	r->is_free = is_free;
	begin(r);
	while (worst(r, shape, &d, &c))
		take_out(r, d, c);
	for (d = 0; d < space->n_dims; d++) {
		uint32_t n = 0;

		for (c = 0; c < space->dims[d]; c++)
			if (!r->is_out[d][c])
				ret->at[d][n++] = (uint16_t)c;
	}
	ret->shape = *shape;
	c = r->n_taken;
	free(r);
	return c ? -ENOENT : 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/layout.h"

#include <stdbool.h>
#include <string.h>

#include "pmcore/util/copy.h"

#define INLINE static inline __attribute__((always_inline))

/* --- copies ----------------------------------------------------------------------------------- */

/* A short block, without a call: both halves of it, which may overlap. */
INLINE void copy_halves(char *to, const char *from, size_t n, size_t half)
{
	memcpy(to, from, half);
	memcpy(to + n - half, from + n - half, half);
}

INLINE void copy_block(char *to, const char *from, size_t n)
{
	if (n > 32)
		copy_bytes(to, from, n);
	else if (n >= 16)
		copy_halves(to, from, n, 16);
	else if (n >= 8)
		copy_halves(to, from, n, 8);
	else if (n >= 4)
		copy_halves(to, from, n, 4);
	else
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
}

/* Blocks in memory from @at on, @stride apart; in the message they touch. */
INLINE void copy_strided(char *at, ptrdiff_t stride, char *packed, size_t block, size_t n,
			 bool is_out)
{
	for (; n; n--) {
		if (is_out)
			copy_block(packed, at, block);
		else
			copy_block(at, packed, block);
		at += stride;
		packed += block;
	}
}

/* The usual lengths are known to the compiler. */
INLINE void copy_blocks(char *at, ptrdiff_t stride, char *packed, size_t block, size_t n,
			bool is_out)
{
	switch (block) {
	case 4:
		copy_strided(at, stride, packed, 4, n, is_out);
		break;
	case 8:
		copy_strided(at, stride, packed, 8, n, is_out);
		break;
	case 16:
		copy_strided(at, stride, packed, 16, n, is_out);
		break;
	case 32:
		copy_strided(at, stride, packed, 32, n, is_out);
		break;
	default:
		copy_strided(at, stride, packed, block, n, is_out);
	}
}

/* --- the way through a message ---------------------------------------------------------------- */

/* One block for each element, or rows of runs that go on at their stride, are one longer run. */
static void simplify(struct layout *layout)
{
	struct layout_run *run = layout->run;

	if (layout->elements == 1) {
		layout->elements = layout->rows;
		layout->element_stride = layout->row_stride;
		layout->rows = 1;
	}
	if (layout->n_runs > 1 || layout->elements == 1)
		return;
	if (run->n > 1 && layout->element_stride != (ptrdiff_t)run->n * run->stride)
		return;
	if (run->n == 1)
		run->stride = layout->element_stride;
	run->n *= layout->elements;
	layout->elements = 1;
}

void layout_begin(struct layout_walk *walk, const struct layout *layout, const void *base)
{
	*walk = (struct layout_walk){
		.layout = *layout, .element = (uintptr_t)base, .row = (uintptr_t)base};
	simplify(&walk->layout);
}

static void next_element(struct layout_walk *walk)
{
	const struct layout *layout = &walk->layout;

	walk->run = 0;
	walk->element += (uintptr_t)layout->element_stride;
	if (++walk->element_no < layout->elements)
		return;
	walk->element_no = 0;
	walk->row += (uintptr_t)layout->row_stride;
	walk->element = walk->row;
	walk->row_no++;
}

static void next_run(struct layout_walk *walk)
{
	walk->block = 0;
	if (++walk->run == walk->layout.n_runs)
		next_element(walk);
}

/* A part of a block; how much of it. */
INLINE size_t copy_part(struct layout_walk *walk, const struct layout_run *run, char *at,
			char *packed, size_t n, bool is_out)
{
	size_t left = run->block - walk->offset, part = n < left ? n : left;

	copy_blocks(at + walk->offset, 0, packed, part, 1, is_out);
	walk->offset += part;
	if (walk->offset == run->block) {
		walk->offset = 0;
		walk->block++;
	}
	return part;
}

/* Whole blocks, of which there is room for one at least; their bytes. */
INLINE size_t copy_whole(struct layout_walk *walk, const struct layout_run *run, char *at,
			 char *packed, size_t n, bool is_out)
{
	size_t blocks = run->n - walk->block;

	if (blocks > 1 && blocks > n / run->block)
		blocks = n / run->block;
	copy_blocks(at, run->stride, packed, run->block, blocks, is_out);
	walk->block += blocks;
	return blocks * run->block;
}

INLINE size_t copy(struct layout_walk *walk, char *packed, size_t n, bool is_out)
{
	size_t done = 0;

	while (done < n && walk->row_no < walk->layout.rows) {
		const struct layout_run *run = &walk->layout.run[walk->run];
		char *at = (char *)(walk->element + (uintptr_t)run->at +
				    walk->block * (uintptr_t)run->stride);

		if (walk->offset || n - done < run->block)
			done += copy_part(walk, run, at, packed + done, n - done, is_out);
		else
			done += copy_whole(walk, run, at, packed + done, n - done, is_out);
		if (walk->block == run->n)
			next_run(walk);
	}
	return done;
}

size_t layout_gather(struct layout_walk *walk, void *to, size_t n)
{
	return copy(walk, to, n, true);
}

size_t layout_scatter(struct layout_walk *walk, const void *from, size_t n)
{
	return copy(walk, (char *)from, n, false);
}

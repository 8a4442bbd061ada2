// SPDX-License-Identifier: BSD-3-Clause
/*
 * layout: every small layout, cut into parts of every length, against the addresses of its bytes
 * one by one.
 */
#include "mpi-glue/common/layout.h"
#include "tests/harness/tap.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY 4096
#define BASE 2048

/* Where each byte of the message lies; their number. */
static size_t list_bytes(const struct layout *l, size_t *places)
{
	size_t count = 0;

	for (size_t row = 0; row < l->rows; row++)
		for (size_t element = 0; element < l->elements; element++)
			for (uint32_t r = 0; r < l->n_runs; r++)
				for (size_t i = 0; i < l->run[r].n * l->run[r].block; i++)
					places[count++] =
						(size_t)(BASE + (ptrdiff_t)row * l->row_stride +
							 (ptrdiff_t)element * l->element_stride +
							 l->run[r].at +
							 (ptrdiff_t)(i / l->run[r].block) *
								 l->run[r].stride) +
						i % l->run[r].block;
	return count;
}

static bool gathers(const struct layout *l, const size_t *places, size_t bytes, size_t part)
{
	static uint8_t memory[MEMORY], packed[MEMORY];
	struct layout_walk walk;
	size_t at = 0, n = part;

	for (size_t i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	memset(packed, 0xee, sizeof(packed));
	layout_begin(&walk, l, memory + BASE);
	for (; n == part; at += n)
		n = layout_gather(&walk, packed + at, part);
	for (size_t i = 0; i < bytes; i++)
		if (packed[i] != memory[places[i]])
			return false;
	return at == bytes && packed[bytes] == 0xee && !layout_gather(&walk, packed, 1);
}

static bool scatters(const struct layout *l, const size_t *places, size_t bytes, size_t part)
{
	static uint8_t memory[MEMORY], wanted[MEMORY], packed[MEMORY];
	struct layout_walk walk;
	size_t at = 0, n = part;

	memset(memory, 0xee, sizeof(memory));
	memset(wanted, 0xee, sizeof(wanted));
	for (size_t i = 0; i < MEMORY; i++)
		packed[i] = (uint8_t)(i * 5 + i / 256);
	for (size_t i = 0; i < bytes; i++)
		wanted[places[i]] = packed[i];
	layout_begin(&walk, l, memory + BASE);
	for (; n == part; at += n)
		n = layout_scatter(&walk, packed + at, part);
	return at == bytes && !memcmp(memory, wanted, MEMORY);
}

static bool holds(const struct layout *l)
{
	size_t places[MEMORY], bytes = list_bytes(l, places);

	for (size_t part = 1; part <= bytes + 1; part++)
		if (!gathers(l, places, bytes, part) || !scatters(l, places, bytes, part))
			return false;
	return true;
}

/* One run, all repetitions up to 3, touching and apart, forwards and backwards. */
static bool run_holds(size_t block, size_t n, ptrdiff_t gap, int sign)
{
	ptrdiff_t stride = sign * ((ptrdiff_t)block + gap), element = (ptrdiff_t)n * stride;

	for (size_t elements = 1; elements <= 3; elements++)
		for (size_t rows = 1; rows <= 3; rows++)
			for (ptrdiff_t more = 0; more <= 5; more += 5) {
				struct layout l = {
					.run = {{3, block, n, stride}},
					.n_runs = 1,
					.elements = elements,
					.element_stride = element + sign * more,
					.rows = rows,
					.row_stride =
						(ptrdiff_t)elements * (element + sign * more) +
						sign * 2 * more,
				};

				if (!holds(&l))
					return false;
			}
	return true;
}

TAP_TEST(layout__one_run)
{
	static const size_t blocks[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 33};
	bool is_right = true;

	for (size_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++)
		for (size_t n = 1; n <= 3; n++)
			for (ptrdiff_t gap = 0; gap <= 4; gap += 2)
				is_right = is_right && run_holds(blocks[b], n, gap, 1) &&
					   run_holds(blocks[b], n, gap, -1);
	ok(is_right);
}

TAP_TEST(layout__struct_of_several_runs)
{
	struct layout l = {.run = {{0, 4, 1, 0}, {8, 30, 1, 0}, {40, 1, 3, 2}, {-9, 8, 1, 0}},
			   .n_runs = 4,
			   .elements = 3,
			   .element_stride = 60,
			   .rows = 2,
			   .row_stride = 400};

	ok(holds(&l));
}

TAP_TEST(layout__nothing_lies_at_its_base)
{
	struct layout l = {
		.run = {{sizeof(void *), 8, 2, 16}}, .n_runs = 1, .elements = 1, .rows = 1};
	uint64_t memory[8] = {0, 1, 2, 3}, packed[2];
	struct layout_walk walk;

	/* as of MPI_BOTTOM: the address of the data is in the run */
	l.run[0].at = (ptrdiff_t)(uintptr_t)memory;
	layout_begin(&walk, &l, NULL);
	is_int(layout_gather(&walk, packed, sizeof(packed)), sizeof(packed));
	is_int(packed[0], 0);
	is_int(packed[1], 2);
}

/* Gathers a long run by parts of @part bytes and scatters it to where it was, backwards too. */
static void long_run(size_t block, size_t stride, size_t n, int sign, size_t part)
{
	size_t bytes = n * block, at = 0, step;
	uint8_t *memory = malloc(n * stride), *copy = calloc(n, stride), *packed = malloc(bytes);
	ptrdiff_t first = sign < 0 ? (ptrdiff_t)((n - 1) * stride) : 0;
	struct layout l = {.run = {{first, block, n, sign * (ptrdiff_t)stride}},
			   .n_runs = 1,
			   .elements = 1,
			   .rows = 1};
	struct layout_walk out, in;
	bool is_right = true;

	must(memory && copy && packed);
	for (size_t i = 0; i < n * stride; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	layout_begin(&out, &l, memory);
	layout_begin(&in, &l, copy);
	for (; at < bytes; at += step) {
		step = layout_gather(&out, packed + at, part < bytes - at ? part : bytes - at);
		must(step);
		is_int(layout_scatter(&in, packed + at, step), step);
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *place = memory + first + (ptrdiff_t)i * l.run[0].stride;

		is_right = is_right && !memcmp(packed + i * block, place, block) &&
			   !memcmp(copy + (place - memory), place, block);
	}
	ok(is_right);
	free(memory);
	free(copy);
	free(packed);
}

/* Long enough for prefetching. */
TAP_TEST(layout__long_runs)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		long_run(32, 64, 40000, sign, 1392);
		long_run(100, 130, 20000, sign, 65536);
		long_run(8, 1024, 3000, sign, 1000);
		long_run(1024, 2048, 1200, sign, 8000);
		long_run(4096, 5000, 500, sign, 8000);
	}
}

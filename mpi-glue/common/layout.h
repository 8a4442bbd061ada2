/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - where the bytes of a message lie in memory when they are not in one piece, and the way
 * through them in order. A message may be cut into parts anywhere.
 *
 * Holds what most datatypes come down to: vectors, structs, subarrays. Open MPI's own way through
 * any datatype takes two to three times as long, and as much again to find its place for each part.
 * Pure: it knows nothing of MPI.
 */
#ifndef MPI_GLUE_LAYOUT_H
#define MPI_GLUE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Runs of an element, at most. */
#define LAYOUT_RUNS 6

/* Blocks of one length at one distance. */
struct layout_run {
	ptrdiff_t at;     /* the first block, from where the element begins */
	size_t block;     /* bytes of each, not 0 */
	size_t n;         /* blocks, not 0 */
	ptrdiff_t stride; /* from one to the next */
};

/* Elements, each made of all the runs, follow one another in rows, and rows in a table. */
struct layout {
	struct layout_run run[LAYOUT_RUNS];
	uint32_t n_runs; /* 1..LAYOUT_RUNS */
	size_t elements; /* of a row, not 0 */
	ptrdiff_t element_stride;
	size_t rows; /* not 0 */
	ptrdiff_t row_stride;
};

/* How far a message has got. */
struct layout_walk {
	struct layout layout;
	uintptr_t element; /* where the current one begins */
	uintptr_t row;     /* ... and its row */
	size_t element_no, row_no;
	size_t block;  /* of the current run */
	size_t offset; /* bytes of the current block that are done */
	uint32_t run;  /* of the current element */
};

/*
 * Begins with the first byte. @base: where the first element begins; no byte of a message need lie
 * there.
 */
void layout_begin(struct layout_walk *walk, const struct layout *layout, const void *base);
/* Copies the next @n bytes of the message out of memory; how many there were. */
size_t layout_gather(struct layout_walk *walk, void *to, size_t n);
/* Copies @n bytes into memory as the next ones of the message; for how many there was a place. */
size_t layout_scatter(struct layout_walk *walk, const void *from, size_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vectors - test vectors in JSON that C and Python share. Each key of the file has arrays of strings, one array per
 * line, so a few lines here read them without a JSON library.
 */
#ifndef TESTS_HARNESS_VECTORS_H
#define TESTS_HARNESS_VECTORS_H

#define VECTOR_STRINGS_MAX 24

/* One line of the file. */
struct vector {
	char text[4096];                  /* the strings, terminated, one behind the other */
	char *string[VECTOR_STRINGS_MAX]; /* where each begins */
	int n;                            /* strings */
};

/* Calls @run for each vector of @file below the key @section; returns their number. */
int each_vector(const char *file, const char *section, void (*run)(const struct vector *v));

#endif

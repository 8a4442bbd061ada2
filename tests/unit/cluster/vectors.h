/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vectors - test vectors in JSON that C and Python share. Each key of the file has arrays of
 * strings, one array per line, so a few lines here read them without a JSON library.
 */
#ifndef TESTS_UNIT_CLUSTER_VECTORS_H
#define TESTS_UNIT_CLUSTER_VECTORS_H

#include <stddef.h>

struct hostlist;

#define VECTOR_STRINGS_MAX 24

/* One line of the file. */
struct vector {
	char text[4096];                  /* the strings, terminated, one behind the other */
	char *string[VECTOR_STRINGS_MAX]; /* where each begins */
	int n;                            /* strings */
};

/* Calls @run for each vector of @file below the key @section; returns their number. */
int each_vector(const char *file, const char *section, void (*run)(const struct vector *v));

/* How a text becomes names: 0, or -errno with a sentence and @list untouched. */
typedef int vector_expand(struct hostlist *list, const char *text, char *why, size_t why_size);

/* The first string has to give the names that follow it. */
void vector_expect_names(const struct vector *v, vector_expand *expand);
/*
 * The first string has to be refused at the character that is the second one, with the third in the
 * sentence.
 */
void vector_expect_refusal(const struct vector *v, vector_expand *expand);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * values - what stands behind an option, from text to number. Pure. 0, or -EINVAL with *@ret as it
 * was.
 */
#ifndef SCHEDULER_SCRUN_VALUES_H
#define SCHEDULER_SCRUN_VALUES_H

#include <stddef.h>
#include <stdint.h>

int value_number(int64_t *ret, const char *text, int64_t min, int64_t max);
/* Seconds, from "90", "1.5s", "200ms", "15m", "2h", "1d"; above 0. */
int value_time(double *ret, const char *text);
/* "4" (*@per_node = 0) or "4x2". */
/* Bytes: a number with K, M, G or T behind it, in steps of 1024. */
int value_size(uint64_t *ret, const char *text, uint64_t min, uint64_t max);
int value_shape(uint32_t *nodes, uint32_t *per_node, const char *text);
/* "8x8x4", up to @room numbers of 1 and more; *@n is how many. */
int value_grid(uint32_t *ret, uint32_t *n, uint32_t room, const char *text);
/* The place of @text in @names, a list that ends in NULL. */
int value_choice(int *ret, const char *text, const char *const *names);

/* The one of @n names that @word is most likely meant for; NULL = none is near. */
const char *value_nearest(const char *word, const char *const *names, size_t n);

#endif

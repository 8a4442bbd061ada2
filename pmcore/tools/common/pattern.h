/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern - test data: a stream of bytes named by a seed, in which no two places look alike. So
 * data of another message, another place or another run is told from the right one. Pure.
 */
#ifndef TOOLS_PATTERN_H
#define TOOLS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The first wrong byte. */
struct pattern_fault {
	uint64_t offset;  /* in the stream, bytes */
	uint8_t expected; /* what should be there */
	uint8_t got;      /* what is there */
};

/* Writes bytes [start, start + len) of the stream @seed to @buf. */
void pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t start);
/* 0, or -EBADMSG and the first difference in *@ret_fault. */
int pattern_check(const void *buf, size_t len, uint64_t seed, uint64_t start,
		  struct pattern_fault *ret_fault);
/* A number for everything that is drawn by chance (splitmix64); the state starts as a seed. */
uint64_t pattern_random(uint64_t *state);

#endif

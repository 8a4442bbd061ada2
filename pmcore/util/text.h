/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - a text grows in a buffer of fixed size, as dump functions need it. Bytes that do not fit
 * are counted, not written. The text in the buffer always ends in a zero (if it has any room).
 */
#ifndef PM_UTIL_TEXT_H
#define PM_UTIL_TEXT_H

#include <stddef.h>

/* Zeroed with buf and room set is empty; room 0 only measures. */
struct text {
	char *buf;   /* may be NULL when room is 0 */
	size_t room; /* bytes of buf */
	size_t len;  /* characters wanted so far */
};

void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

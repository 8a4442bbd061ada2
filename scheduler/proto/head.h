/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head - single fields of a message's head, for messages that are too small for a decode function
 * of their own (fields.h). A field that is missing or of another type is "" or 0.
 */
#ifndef SCHEDULER_PROTO_HEAD_H
#define SCHEDULER_PROTO_HEAD_H

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#define HEAD_OP_SHOWN 40 /* bytes of an unknown op in a sentence about it */

static inline const char *head_text(const json_t *head, const char *key)
{
	const char *text = json_string_value(json_object_get(head, key));

	return text ? text : "";
}

static inline uint64_t head_number(const json_t *head, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(head, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Bytes at the beginning of @text, at most @max, that are whole letters of UTF-8. */
static inline int head_cut(const char *text, size_t max)
{
	size_t n = strnlen(text, max);

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

#endif

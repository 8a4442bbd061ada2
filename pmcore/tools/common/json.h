/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - one JSON document written member by member to a stream. Places commas, quotes and escapes;
 * knows nothing of what it writes. Numbers that JSON cannot hold become null.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed with @out set it is ready. */
struct json {
	FILE *out;        /* where the text goes */
	bool needs_comma; /* a value stands before in the open object or array */
};

/* @name NULL: the document itself or an element of an array. */
void json_open(struct json *json, const char *name, char bracket);
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *name, const char *value);
void json_count(struct json *json, const char *name, uint64_t value);
void json_number(struct json *json, const char *name, double value);
void json_flag(struct json *json, const char *name, bool value);
/* Ends the line of a finished document and hands it to the reader. */
void json_end_line(struct json *json);

#endif

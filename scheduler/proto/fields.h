/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields - takes the fields of a JSON object that came from outside, one after the other. The first
 * thing that is wrong is told in a sentence, and everything after it yields nothing: the caller
 * looks once, at the end.
 *
 * A text of a program (argument, environment, path) may hold any bytes: what is no UTF-8 travels as
 * {"hex": "..."}.
 */
#ifndef SCHEDULER_PROTO_FIELDS_H
#define SCHEDULER_PROTO_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELDS_TEXT_MAX 131071 /* bytes of one text: what exec() takes of an argument */

struct fields {
	const json_t *from;
	const char *what; /* "job", for the sentence */
	char *why;
	size_t why_size;
	int err; /* 0, -EINVAL or -ENOMEM */
};

/* The form that a text must have. */
enum fields_kind {
	FIELDS_NAME,  /* letters, digits, "." "_" "-": 1 to 255 */
	FIELDS_LINE,  /* at least one character, none of them a control character */
	FIELDS_NOTE,  /* the same, may be empty */
	FIELDS_BYTES, /* anything, also nothing */
	FIELDS_PATH,  /* begins with "/" */
	FIELDS_ENV,   /* NAME=VALUE */
};

/* The first error stays. */
__attribute__((format(printf, 2, 3))) void fields_wrong(struct fields *fields, const char *fmt,
							...);

void fields_no_memory(struct fields *fields);

int64_t fields_number(struct fields *fields, const char *name, int64_t min, int64_t max);
/* @otherwise when it is missing. */
int64_t fields_number_or(struct fields *fields, const char *name, int64_t min, int64_t max,
			 int64_t otherwise);
double fields_seconds(struct fields *fields, const char *name); /* missing = 0 */
bool fields_flag(struct fields *fields, const char *name);      /* missing = false */
/* One of @names, a list that ends in NULL; missing = the first. */
int fields_choice(struct fields *fields, const char *name, const char *const *names);
/* 64 bits that may be above what JSON's numbers hold: 16 hexadecimal digits. */
uint64_t fields_bits(struct fields *fields, const char *name);
uint64_t fields_bits_of(struct fields *fields, const json_t *value, const char *name);
/* A copy; NULL on error, and when it is missing and @is_optional. */
char *fields_text(struct fields *fields, const char *name, enum fields_kind kind, bool is_optional);
/* Copies, and a NULL behind them; missing = none of them. NULL on error only. */
char **fields_texts(struct fields *fields, const char *name, enum fields_kind kind, size_t max);
/*
 * An array of @min to @max values, or NULL on error; missing = an empty one if @min is 0. Borrowed.
 */
const json_t *fields_array(struct fields *fields, const char *name, size_t min, size_t max);
void fields_texts_free(char **texts);

/* The other way; NULL: no memory. */
json_t *fields_from_text(const char *text);
json_t *fields_from_texts(char *const *texts);
json_t *fields_from_bits(uint64_t bits);

#endif

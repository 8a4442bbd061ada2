/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - command lines: one table per tool gives parsing, defaults' help and error sentences;
 * and the readers of numbers with units and of lists of sizes. Prints nothing: an error is a
 * sentence.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_SIZES_MAX 64
#define OPTIONS_WHY 256

/* The value that an option takes, and the type of the field it sets. */
enum option_kind {
	OPTION_FLAG,    /* nothing; bool set to true */
	OPTION_COUNT,   /* 1, 200, 10k, 2M; uint64_t, powers of ten */
	OPTION_BYTES,   /* 0, 64K, 4M; uint64_t, powers of two */
	OPTION_SECONDS, /* 2, 0.5; double, more than 0 */
	OPTION_TEXT,    /* const char * into argv */
	OPTION_SIZES,   /* 8,64K or 1:4M; struct option_sizes */
	OPTION_MAYBE,   /* const char *: a text may follow as --name=TEXT; else "" */
};

/* One option of a tool; a table ends with a zeroed one. */
struct option_spec {
	const char *name; /* without the dashes */
	enum option_kind kind;
	size_t offset;     /* of the field in the tool's struct */
	const char *value; /* what the help calls the value, or NULL */
	const char *help;  /* the rest of the help line */
	uint64_t min, max; /* of counts and bytes, both ends allowed; 0, 0 = any */
};

/* One line of a table for the fields of struct @type; .min and .max may follow. */
#define OPTION_SPEC(type, option, of_kind, field, of_value, text, ...)                             \
	{                                                                                          \
		.name = option, .kind = of_kind, .offset = offsetof(type, field),                  \
		.value = of_value, .help = text, __VA_ARGS__                                       \
	}

/* Sizes in bytes, in the order given. */
struct option_sizes {
	uint64_t size[OPTIONS_SIZES_MAX];
	size_t count; /* 0 = not given */
};

/*
 * Sets the fields of @into from argv; words that are no option are moved to the front of @argv and
 * counted in *@ret_n_words (argv[0] left out: they start at argv[1]). 0, or -EINVAL with a sentence
 * in @why. "--help" and "--version" are the caller's: -ECANCELED with the word in @why.
 */
int options_parse(const struct option_spec *specs, void *into, int argc, char **argv,
		  int *ret_n_words, char *why);
/* The help lines of a table to standard output. */
void options_help(const struct option_spec *specs);

/* Readers for single values; 0 or -EINVAL. @unit is 1000 or 1024, for the suffixes k, M, G. */
int options_read_count(const char *text, uint64_t unit, uint64_t *ret_value);
int options_read_seconds(const char *text, double *ret_value);
/* "8", "0,8,64K" or "FROM:TO" (doubling from FROM, TO included), or several of them. */
int options_read_sizes(const char *text, uint64_t max, struct option_sizes *ret_sizes, char *why);

#endif

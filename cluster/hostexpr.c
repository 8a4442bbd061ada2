// SPDX-License-Identifier: BSD-3-Clause
/*
 * hostexpr - reads an expression term by term into a set of names, and writes what is left out as a
 * list.
 */
#include "cluster/hostexpr.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/nameset.h"

#define COUNT_DIGITS 9

/* A hostlist of the expression: its names are in use until all is read. */
struct kept {
	struct kept *next;
	struct hostlist list;
};

struct reader {
	const char *text; /* all of it */
	const char *at;   /* next character */
	const struct hostexpr_groups *groups;
	struct kept *kept;
	char *why; /* the caller's room for a sentence */
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *r, const char *place,
							const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(r->why, r->why_size, "at character %zu: ", (size_t)(place - r->text) + 1);
	if (n < 0 || (size_t)n >= r->why_size)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(r->why + n, r->why_size - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static void skip_blanks(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

/*
 * The length of what stands up to an operator, a blank or the end; commas within brackets belong to
 * it.
 */
static size_t word_length(const char *word)
{
	bool is_inside = false;
	const char *at = word;

	for (; *at; at++)
		if (*at == '[' || *at == ']')
			is_inside = *at == '[';
		else if (!is_inside && is_one_of(*at, ",+~:@ \t"))
			break;
	return (size_t)(at - word);
}

static int add(void *to, const char *name)
{
	return nameset_add(to, name);
}

/* The word as a hostlist of one item. @place: where it stands in the text. */
static int add_hosts(struct reader *r, const char *word, const char *place, struct nameset *names)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	int err;

	if (!kept)
		return -ENOMEM;
	kept->next = r->kept;
	r->kept = kept;
	err = hostlist_expand_part(&kept->list, word, (size_t)(place - r->text), r->why,
				   r->why_size);
	for (size_t i = 0; !err && i < kept->list.n; i++)
		err = nameset_add(names, kept->list.names[i]);
	return err;
}

static int read_primary(struct reader *r, struct nameset *names)
{
	const char *start = r->at;
	size_t len = word_length(start);
	char *word;
	int err = -ENOENT;

	if (!len)
		return refuse(r, start, "a host or a group is missing");
	word = strndup(start, len);
	if (!word)
		return -ENOMEM;
	r->at += len;
	if (r->groups)
		err = r->groups->each(r->groups->arg, word, add, names);
	if (err == -ENOENT)
		err = add_hosts(r, word, start, names);
	free(word);
	return err;
}

static bool is_count(const char *word, size_t len)
{
	return len <= COUNT_DIGITS && strspn(word, "0123456789") >= len;
}

/* How many of @names a cut at the word leaves on its left. */
static int read_place(struct reader *r, const struct nameset *names, size_t *ret)
{
	const char *word = r->at, *name;
	size_t len = word_length(word), at = 0, before = 0;
	int shown = 0;

	r->at += len;
	if (!len)
		return refuse(r, word, "a number or a host is missing");
	if (is_count(word, len)) {
		*ret = strtoul(word, NULL, 10);
		if (*ret <= names->n)
			return 0;
		return refuse(r, word, "there are only %zu hosts to take %zu from", names->n, *ret);
	}
	while ((name = nameset_next(names, &at))) {
		before++;
		if (strlen(name) == len && !memcmp(name, word, len)) {
			*ret = before;
			return 0;
		}
	}
	while (shown < 40 && (size_t)shown < len && word[shown] > ' ' && word[shown] <= '~')
		shown++;
	return refuse(r, word, "\"%.*s\" is not among the hosts on its left", shown, word);
}

/* ":" keeps what is on the left of the place, "@" what is on its right. */
static int read_cut(struct reader *r, struct nameset *names)
{
	bool is_left = *r->at++ == ':';
	size_t place, at = 0;
	struct nameset rest;
	const char *name;
	int err;

	skip_blanks(r);
	err = read_place(r, names, &place);
	if (!err)
		err = nameset_init(&rest);
	if (err)
		return err;
	for (size_t i = 0; !err && (name = nameset_next(names, &at)); i++)
		if ((i < place) == is_left)
			err = nameset_add(&rest, name);
	nameset_fini(names);
	*names = rest;
	skip_blanks(r);
	return err;
}

static int read_term(struct reader *r, struct nameset *names)
{
	int err = read_primary(r, names);

	skip_blanks(r);
	for (int cuts = 1; !err && is_one_of(*r->at, ":@"); cuts++)
		err = cuts > HOSTEXPR_CUTS_MAX
			      ? refuse(r, r->at, "more than %d cuts of one term", HOSTEXPR_CUTS_MAX)
			      : read_cut(r, names);
	return err;
}

/* Whether the next term is taken away; "a,~b" is "a~b". */
static int read_operator(struct reader *r, bool *ret_is_removing)
{
	char sign = *r->at;

	if (!is_one_of(sign, ",+~"))
		return refuse(r, r->at, "hosts and groups are separated by , + or ~");
	r->at++;
	skip_blanks(r);
	if (sign == ',' && *r->at == '~') {
		sign = *r->at++;
		skip_blanks(r);
	}
	*ret_is_removing = sign == '~';
	return 0;
}

static int join(struct nameset *names, const struct nameset *term, bool is_removing)
{
	const char *name;
	size_t at = 0;
	int err = 0;

	while (!err && (name = nameset_next(term, &at)))
		if (is_removing)
			nameset_remove(names, name);
		else
			err = nameset_add(names, name);
	return err;
}

/* One term, joined to what was before. @total: names of all terms so far. */
static int take_term(struct reader *r, struct nameset *names, bool is_removing, size_t *total)
{
	const char *start = r->at;
	struct nameset term;
	int err = nameset_init(&term);

	if (err)
		return err;
	err = read_term(r, &term);
	*total += term.n;
	if (!err && *total > HOSTLIST_NAMES_MAX)
		err = refuse(r, start, "the expression names more than %u hosts",
			     HOSTLIST_NAMES_MAX);
	if (!err)
		err = join(names, &term, is_removing);
	nameset_fini(&term);
	return err;
}

static int read_expression(struct reader *r, struct nameset *names)
{
	bool is_removing = false;
	size_t total = 0;
	int err;

	skip_blanks(r);
	if (!*r->at)
		return refuse(r, r->text, "the expression is empty: write a host or a group");
	if (*r->at == '~')
		return refuse(r, r->at, "there is nothing to take from: write \"all~\" before it");
	do {
		err = take_term(r, names, is_removing, &total);
		if (err || !*r->at)
			break;
		err = read_operator(r, &is_removing);
	} while (!err);
	if (!err && !names->n)
		return refuse(r, r->text, "the expression leaves no host");
	return err;
}

/* The names with memory of their own. */
static int write_out(const struct nameset *names, struct hostlist *ret)
{
	struct hostlist list = {.names = calloc(names->n, sizeof(*list.names))};
	size_t bytes = 0, at = 0;
	const char *name;
	char *to;

	while ((name = nameset_next(names, &at)))
		bytes += strlen(name) + 1;
	list.text = to = malloc(bytes);
	if (!list.names || !list.text) {
		hostlist_fini(&list);
		return -ENOMEM;
	}
	for (at = 0; (name = nameset_next(names, &at)); to = strchr(to, 0) + 1)
		list.names[list.n++] = strcpy(to, name);
	*ret = list;
	return 0;
}

int hostexpr_expand(struct hostlist *ret, const char *text, const struct hostexpr_groups *groups,
		    char *why, size_t why_size)
{
	struct reader r = {
		.text = text, .at = text, .groups = groups, .why = why, .why_size = why_size};
	struct nameset names;
	int err = nameset_init(&names);

	if (err)
		return err;
	err = read_expression(&r, &names);
	if (!err)
		err = write_out(&names, ret);
	nameset_fini(&names);
	while (r.kept) {
		struct kept *kept = r.kept;

		r.kept = kept->next;
		hostlist_fini(&kept->list);
		free(kept);
	}
	return err;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * hostlist - the parser of bracket ranges. It walks the text twice: once to judge it and to add up
 * names and bytes, once to write them. So the memory is taken in one piece and nothing of the
 * expansion has to be checked again. Refuses to know what the names mean.
 */
#include "cluster/hostlist.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One range of a bracket. */
struct range {
	uint64_t first;     /* the first number */
	uint64_t last;      /* none is larger */
	uint64_t step;      /* distance between numbers, at least 1 */
	unsigned int width; /* digits to pad to, 0 = no padding */
};

/* The walk over a list. */
struct walk {
	const char *text; /* the whole list */
	const char *at;   /* next character */
	size_t before;    /* characters of what the user wrote that stand before the text */
	char *why;        /* the caller's room for a sentence */
	size_t why_size;  /* bytes */
};

/* The room that a part of a list needs. */
struct need {
	uint64_t names; /* names it expands to */
	uint64_t bytes; /* at most this many characters together; known for items and lists */
	size_t longest; /* characters of the longest one */
};

/* The names being written; all memory is there already. */
struct output {
	char **names; /* next pointer to fill */
	char *bytes;  /* next free byte */
};

__attribute__((format(printf, 3, 4))) static int refuse(struct walk *w, const char *place,
							const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(w->why, w->why_size,
		     "at character %zu: ", w->before + (size_t)(place - w->text) + 1);
	if (n < 0 || (size_t)n >= w->why_size)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(w->why + n, w->why_size - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_literal(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
	       c == '_' || c == '-';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct walk *w)
{
	while (is_blank(*w->at))
		w->at++;
}

static unsigned int digits_of(uint64_t number)
{
	unsigned int n = 1;

	for (; number > 9; number /= 10)
		n++;
	return n;
}

/* The digits at the walk's place; *@ret_len is their number, 0 if there are none. */
static uint64_t read_digits(struct walk *w, unsigned int *ret_len)
{
	const char *start = w->at;
	uint64_t number = 0;

	for (; is_digit(*w->at); w->at++)
		if (w->at - start < HOSTLIST_DIGITS_MAX)
			number = number * 10 + (uint64_t)(*w->at - '0');
	*ret_len = (unsigned int)(w->at - start);
	return number;
}

static int refuse_range(struct walk *w, const char *start)
{
	int len = 0;

	while (len < 40 && start[len] > ' ' && start[len] <= '~' && !strchr(",]", start[len]))
		len++;
	return refuse(w, start, "\"%.*s\" is no range: write a number, 1-9 or 1-9/2", len, start);
}

/* Judges the ends of a range whose digits were read from @start. */
static int check_ends(struct walk *w, const char *start, struct range *r, unsigned int low_len,
		      const char *high, unsigned int high_len)
{
	bool is_padded = (low_len > 1 && *start == '0') || (high_len > 1 && *high == '0');
	int width = (int)(low_len > high_len ? low_len : high_len);

	if (low_len > HOSTLIST_DIGITS_MAX || high_len > HOSTLIST_DIGITS_MAX)
		return refuse(w, start, "a number has more than %d digits", HOSTLIST_DIGITS_MAX);
	if (is_padded && low_len != high_len)
		return refuse(w, start,
			      "both ends of a zero-padded range need the same number of digits: "
			      "write %0*llu-%0*llu",
			      width, (unsigned long long)r->first, width,
			      (unsigned long long)r->last);
	if (r->last < r->first)
		return refuse(w, start, "the range runs backwards: write %.*s-%.*s", (int)high_len,
			      high, (int)low_len, start);
	r->width = is_padded ? low_len : 0;
	return 0;
}

/* number [ "-" number [ "/" step ] ], up to "," or "]". */
static int read_range(struct walk *w, struct range *ret)
{
	const char *start = w->at, *high = w->at;
	unsigned int low_len, high_len, step_len = 1;
	struct range r = {.step = 1};
	int rc;

	r.first = read_digits(w, &low_len);
	r.last = r.first;
	high_len = low_len;
	if (*w->at == '-') {
		high = ++w->at;
		r.last = read_digits(w, &high_len);
		if (*w->at == '/') {
			w->at++;
			r.step = read_digits(w, &step_len);
		}
	}
	if (!low_len || !high_len || !step_len || (*w->at != ',' && *w->at != ']'))
		return refuse_range(w, start);
	if (step_len > HOSTLIST_DIGITS_MAX)
		return refuse(w, start, "a number has more than %d digits", HOSTLIST_DIGITS_MAX);
	rc = check_ends(w, start, &r, low_len, high, high_len);
	if (rc)
		return rc;
	if (!r.step)
		return refuse(w, start, "the step is 0: write 1 or more");
	*ret = r;
	return 0;
}

static uint64_t range_names(const struct range *r)
{
	return (r->last - r->first) / r->step + 1;
}

/* Adds a range to the needs of its bracket. */
static void need_range(struct need *need, const struct range *r)
{
	uint64_t names = range_names(r);
	uint64_t last = r->first + (names - 1) * r->step;
	unsigned int digits = digits_of(last);

	if (digits < r->width)
		digits = r->width;
	if (digits > need->longest)
		need->longest = digits;
	if (names > HOSTLIST_NAMES_MAX)
		names = HOSTLIST_NAMES_MAX + 1; /* refused later; keeps the sums small */
	need->names += names;
	if (need->names > HOSTLIST_NAMES_MAX)
		need->names = HOSTLIST_NAMES_MAX + 1;
}

/* The bracket the walk stands on. */
static int need_bracket(struct walk *w, struct need *ret)
{
	const char *open = w->at++;
	struct need need = {0};
	struct range r;
	int rc;

	if (!strchr(open, ']'))
		return refuse(w, open, "the \"[\" is not closed: add \"]\"");
	for (;; w->at++) {
		rc = read_range(w, &r);
		if (rc)
			return rc;
		need_range(&need, &r);
		if (*w->at == ']')
			break;
	}
	w->at++;
	*ret = need;
	return 0;
}

/* One character of an item that is no part of a bracket. */
static int need_literal(struct walk *w, struct need *need)
{
	if (*w->at == ']')
		return refuse(w, w->at, "a \"]\" without \"[\"");
	if (!is_literal(*w->at))
		return refuse(w, w->at,
			      "\"%c\" cannot be part of a name: use letters, digits, . _ -",
			      *w->at >= 0x20 && *w->at < 0x7f ? *w->at : '?');
	w->at++;
	need->longest++;
	return 0;
}

/* The item the walk stands on. */
static int need_item(struct walk *w, struct need *ret)
{
	const char *start = w->at;
	struct need need = {.names = 1}, part;
	int rc;

	while (*w->at && *w->at != ',' && !is_blank(*w->at)) {
		if (*w->at != '[') {
			rc = need_literal(w, &need);
			if (rc)
				return rc;
			continue;
		}
		rc = need_bracket(w, &part);
		if (rc)
			return rc;
		need.names *= part.names;
		need.longest += part.longest;
		if (need.names > HOSTLIST_NAMES_MAX)
			need.names = HOSTLIST_NAMES_MAX + 1;
	}
	if (w->at == start)
		return refuse(w, start, "a name is missing before or after a comma");
	if (need.longest > HOSTLIST_NAME_MAX)
		return refuse(w, start, "a name has more than %d characters", HOSTLIST_NAME_MAX);
	need.bytes = need.names * need.longest;
	*ret = need;
	return 0;
}

/* Judges the whole list. */
static int need_list(struct walk *w, struct need *ret)
{
	struct need need = {0}, item;
	const char *start;
	int rc;

	skip_blanks(w);
	if (!*w->at)
		return refuse(w, w->text, "the list is empty: write at least one name");
	for (;;) {
		start = w->at;
		rc = need_item(w, &item);
		if (rc)
			return rc;
		need.names += item.names;
		need.bytes += item.bytes;
		if (need.names > HOSTLIST_NAMES_MAX)
			return refuse(w, start, "the list names more than %u hosts",
				      HOSTLIST_NAMES_MAX);
		skip_blanks(w);
		if (!*w->at)
			break;
		if (*w->at != ',')
			return refuse(w, w->at, "names are separated by commas");
		w->at++;
		skip_blanks(w);
	}
	*ret = need;
	return 0;
}

/*
 * Writes all names of the item part that begins at @at, each after the @len characters already in
 * @name. Recursion depth is the number of brackets, which HOSTLIST_NAME_MAX bounds.
 */
static void put_item(struct output *out, const char *at, char *name, size_t len)
{
	struct walk w = {.text = at, .at = at};
	struct range r = {.step = 1};
	const char *behind;

	while (is_literal(*w.at))
		name[len++] = *w.at++;
	if (*w.at != '[') {
		*out->names++ = out->bytes;
		memcpy(out->bytes, name, len);
		out->bytes[len] = '\0';
		out->bytes += len + 1;
		return;
	}
	behind = strchr(w.at, ']') + 1;
	while (*w.at++ != ']') {
		int rc = read_range(&w, &r);
		uint64_t i, n = range_names(&r);

		assert(rc == 0); /* need_list has judged the text */
		for (i = 0; i < n; i++) {
			int digits = sprintf(name + len, "%0*llu", (int)r.width,
					     (unsigned long long)(r.first + i * r.step));

			put_item(out, behind, name, len + (size_t)digits);
		}
	}
}

/* The start of the item behind the one at @at, or NULL. */
static const char *next_item(const char *at)
{
	bool is_inside = false;

	for (; *at; at++) {
		if (*at == '[')
			is_inside = true;
		else if (*at == ']')
			is_inside = false;
		else if (*at == ',' && !is_inside)
			return at + 1 + strspn(at + 1, " \t");
	}
	return NULL;
}

int hostlist_expand(struct hostlist *ret, const char *text, char *why, size_t why_size)
{
	return hostlist_expand_part(ret, text, 0, why, why_size);
}

int hostlist_expand_part(struct hostlist *ret, const char *text, size_t before, char *why,
			 size_t why_size)
{
	struct walk w = {
		.text = text, .at = text, .before = before, .why = why, .why_size = why_size};
	char name[HOSTLIST_NAME_MAX + 1];
	struct hostlist list;
	struct output out;
	struct need need;
	const char *at;
	int rc;

	rc = need_list(&w, &need);
	if (rc)
		return rc;
	list.n = need.names;
	list.names = calloc(need.names, sizeof(*list.names));
	list.text = malloc(need.bytes + need.names);
	if (!list.names || !list.text) {
		hostlist_fini(&list);
		return -ENOMEM;
	}
	out = (struct output){.names = list.names, .bytes = list.text};
	for (at = text + strspn(text, " \t"); at; at = next_item(at))
		put_item(&out, at, name, 0);
	*ret = list;
	return 0;
}

void hostlist_fini(struct hostlist *list)
{
	free(list->names);
	free(list->text);
	*list = (struct hostlist){0};
}

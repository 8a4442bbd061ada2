// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/cluster/vectors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/hostlist.h"
#include "tests/harness/tap.h"

/* A \uXXXX escape as UTF-8 (below 0x800 only); gives the byte behind it. */
static char *put_utf8(char *out, const char *hex)
{
	char digits[5] = {hex[0], hex[1], hex[2], hex[3], 0};
	unsigned long code = strtoul(digits, NULL, 16);

	if (code >= 0x80)
		*out++ = (char)(0xc0 | code >> 6);
	*out++ = (char)(code < 0x80 ? code : 0x80 | (code & 0x3f));
	return out;
}

static void read_vector(const char *line, struct vector *v)
{
	char *out = v->text;
	const char *in = line;

	for (v->n = 0; (in = strchr(in, '"')) && v->n < VECTOR_STRINGS_MAX; v->n++, in++) {
		v->string[v->n] = out;
		for (in++; *in != '"'; in++) {
			if (*in != '\\')
				*out++ = *in;
			else if (*++in == 'u')
				out = put_utf8(out, in + 1), in += 4;
			else
				*out++ = *in == 't' ? '\t' : *in;
		}
		*out++ = '\0';
	}
}

int each_vector(const char *file, const char *section, void (*run)(const struct vector *v))
{
	FILE *f = fopen(file, "r");
	bool is_inside = false;
	char line[4096];
	struct vector v;
	int n = 0;

	if (!okf(f, "%s: %s (run from the top of the tree)", file, strerror(errno)))
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '"')
			is_inside = strncmp(line + 1, section, strlen(section)) == 0;
		if (line[0] != '[' || !is_inside)
			continue;
		read_vector(line, &v);
		run(&v);
		n++;
	}
	fclose(f);
	return n;
}

void vector_expect_names(const struct vector *v, vector_expand *expand)
{
	struct hostlist list;
	char why[256] = "";
	int rc = expand(&list, v->string[0], why, sizeof(why));

	if (!okf(rc == 0, "\"%s\": %d %s", v->string[0], rc, why))
		return;
	is_int(list.n, v->n - 1);
	for (size_t i = 0; i < list.n && i + 1 < (size_t)v->n; i++)
		is_str(list.names[i], v->string[i + 1]);
	hostlist_fini(&list);
}

void vector_expect_refusal(const struct vector *v, vector_expand *expand)
{
	struct hostlist list = {.n = 77};
	char why[256] = "", place[64];

	must(v->n == 3);
	is_int(expand(&list, v->string[0], why, sizeof(why)), -EINVAL);
	is_int(list.n, 77);
	snprintf(place, sizeof(place), "at character %s: ", v->string[1]);
	okf(strncmp(why, place, strlen(place)) == 0, "\"%s\": %s", v->string[0], why);
	okf(strstr(why, v->string[2]), "\"%s\": %s", v->string[0], why);
}

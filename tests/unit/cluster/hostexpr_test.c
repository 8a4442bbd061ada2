// SPDX-License-Identifier: BSD-3-Clause
/* Tests of hostexpr, with the vectors that the Python side has, too. */
#include "cluster/hostexpr.h"
#include "tests/harness/tap.h"
#include "tests/unit/cluster/vectors.h"

#include <errno.h>
#include <string.h>

#define VECTORS "tests/golden/hostexpr.json"
#define GROUPS_MAX 16

static struct vector group[GROUPS_MAX];
static int n_groups;

static void take_group(const struct vector *v)
{
	must(n_groups < GROUPS_MAX);
	/* the strings lie in the vector: the copy's pointers follow it */
	group[n_groups] = *v;
	for (int i = 0; i < v->n; i++)
		group[n_groups].string[i] = group[n_groups].text + (v->string[i] - v->text);
	n_groups++;
}

static int each_host(void *arg, const char *name, int (*add)(void *to, const char *name), void *to)
{
	int err = 0;

	for (int i = 0; i < n_groups; i++) {
		if (strcmp(group[i].string[0], name) != 0)
			continue;
		for (int k = 1; !err && k < group[i].n; k++)
			err = add(to, group[i].string[k]);
		return err;
	}
	return -ENOENT;
}

static const struct hostexpr_groups groups = {.each = each_host};

static int expand(struct hostlist *list, const char *text, char *why, size_t why_size)
{
	return hostexpr_expand(list, text, &groups, why, why_size);
}

static void expect_names(const struct vector *v)
{
	vector_expect_names(v, expand);
}

static void expect_refusal(const struct vector *v)
{
	vector_expect_refusal(v, expand);
}

static void read_groups(void)
{
	n_groups = 0;
	ok(each_vector(VECTORS, "groups", take_group) >= 7);
}

TAP_TEST(hostexpr_expand__good_vectors)
{
	read_groups();
	ok(each_vector(VECTORS, "good", expect_names) >= 40);
}

TAP_TEST(hostexpr_expand__bad_vectors)
{
	read_groups();
	ok(each_vector(VECTORS, "bad", expect_refusal) >= 33);
}

TAP_TEST(hostexpr_expand__without_groups)
{
	struct hostlist list;
	char why[64];

	must(hostexpr_expand(&list, "all,n[1-2]~n1", NULL, why, sizeof(why)) == 0);
	is_int(list.n, 2);
	is_str(list.names[0], "all");
	is_str(list.names[1], "n2");
	hostlist_fini(&list);
}

static int refusing(void *arg, const char *name, int (*add)(void *to, const char *name), void *to)
{
	return -EPERM;
}

TAP_TEST(hostexpr_expand__what_the_groups_say)
{
	const struct hostexpr_groups never = {.each = refusing};
	struct hostlist list;
	char why[64];

	is_int(hostexpr_expand(&list, "n1", &never, why, sizeof(why)), -EPERM);
}

TAP_TEST(hostexpr_expand__as_many_as_there_may_be)
{
	struct hostlist list;
	char why[128];

	must(hostexpr_expand(&list, "n[0-1048575]@1048570", NULL, why, sizeof(why)) == 0);
	is_int(list.n, 6);
	is_str(list.names[0], "n1048570");
	hostlist_fini(&list);
}

TAP_TEST(hostexpr_expand__little_room_for_the_reason)
{
	struct hostlist list;
	char why[8];

	memset(why, 'x', sizeof(why));
	is_int(hostexpr_expand(&list, "n0+n[", NULL, why, 4), -EINVAL);
	is_str(why, "at ");
	is_int(why[4], 'x');
	is_int(hostexpr_expand(&list, "n0+", NULL, NULL, 0), -EINVAL);
}

/* Any text gives a list or a refusal, never a crash: checked with sanitizers in their builds. */
TAP_TEST(hostexpr_expand__random_text)
{
	static const char letters[] = "nnn01234[],,++~~:@- ";
	uint64_t state = tap_seed();
	int n_good = 0;

	for (int i = 0; i < 200000; i++) {
		size_t len = tap_rand(&state) % 16, j;
		struct hostlist list;
		char text[16], why[64];

		for (j = 0; j < len; j++)
			text[j] = letters[tap_rand(&state) % (sizeof(letters) - 1)];
		text[len] = '\0';
		if (hostexpr_expand(&list, text, NULL, why, sizeof(why)))
			continue;
		n_good++;
		for (j = 0; j < list.n; j++)
			if (!okf(list.names[j][0] && !strpbrk(list.names[j], "[],+~:@ "), "\"%s\"",
				 text))
				return;
		hostlist_fini(&list);
	}
	okf(n_good > 1000, "%d lists", n_good);
}

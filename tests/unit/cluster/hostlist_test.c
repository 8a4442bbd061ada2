// SPDX-License-Identifier: BSD-3-Clause
/* Tests of hostlist, with the vectors that the Python side has, too. */
#include "cluster/hostlist.h"
#include "tests/harness/tap.h"
#include "tests/unit/cluster/vectors.h"

#include <errno.h>
#include <string.h>

#define VECTORS "tests/golden/hostlist.json"

static void expect_names(const struct vector *v)
{
	vector_expect_names(v, hostlist_expand);
}

static void expect_refusal(const struct vector *v)
{
	vector_expect_refusal(v, hostlist_expand);
}

TAP_TEST(hostlist_expand__good_vectors)
{
	ok(each_vector(VECTORS, "good", expect_names) >= 30);
}

TAP_TEST(hostlist_expand__bad_vectors)
{
	ok(each_vector(VECTORS, "bad", expect_refusal) >= 37);
}

TAP_TEST(hostlist_expand__largest_list)
{
	struct hostlist list;
	char why[128];

	must(hostlist_expand(&list, "n[0000000-1048575]", why, sizeof(why)) == 0);
	is_int(list.n, HOSTLIST_NAMES_MAX);
	is_str(list.names[0], "n0000000");
	is_str(list.names[HOSTLIST_NAMES_MAX - 1], "n1048575");
	hostlist_fini(&list);
	ok(!list.names && !list.n);
}

TAP_TEST(hostlist_expand__longest_name)
{
	char text[HOSTLIST_NAME_MAX + 8], why[128];
	struct hostlist list;

	memset(text, 'a', sizeof(text));
	strcpy(text + HOSTLIST_NAME_MAX - 2, "[10]");
	must(hostlist_expand(&list, text, why, sizeof(why)) == 0);
	is_int(strlen(list.names[0]), HOSTLIST_NAME_MAX);
	hostlist_fini(&list);
	strcpy(text + HOSTLIST_NAME_MAX - 2, "[100]");
	is_int(hostlist_expand(&list, text, why, sizeof(why)), -EINVAL);
	is_str(why, "at character 1: a name has more than 255 characters");
}

TAP_TEST(hostlist_expand__little_room_for_the_reason)
{
	struct hostlist list;
	char why[8];

	memset(why, 'x', sizeof(why));
	is_int(hostlist_expand(&list, "n[", why, 4), -EINVAL);
	is_str(why, "at ");
	is_int(why[4], 'x');
	is_int(hostlist_expand(&list, "n[", NULL, 0), -EINVAL);
}

/* Any text gives a list or a refusal, never a crash: checked with sanitizers in their builds. */
TAP_TEST(hostlist_expand__random_text)
{
	static const char letters[] = "n0123459[]-,/ .~\t";
	uint64_t state = tap_seed();
	int i, n_good = 0;

	for (i = 0; i < 200000; i++) {
		size_t len = tap_rand(&state) % 16, j;
		struct hostlist list;
		char text[16], why[64];

		for (j = 0; j < len; j++)
			text[j] = letters[tap_rand(&state) % (sizeof(letters) - 1)];
		text[len] = '\0';
		if (hostlist_expand(&list, text, why, sizeof(why)))
			continue;
		n_good++;
		if (!okf(list.n > 0, "\"%s\"", text))
			return;
		for (j = 0; j < list.n; j++)
			if (!okf(list.names[j][0] && !strpbrk(list.names[j], "[], /"), "\"%s\"",
				 text))
				return;
		hostlist_fini(&list);
	}
	okf(n_good > 1000, "%d lists", n_good);
}

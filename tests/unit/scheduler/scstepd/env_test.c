// SPDX-License-Identifier: BSD-3-Clause
/* env: names, the order of things, and growth. */
#include "scheduler/scstepd/env.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness/tap.h"

TAP_TEST(env_put__a_later_value_replaces)
{
	struct env env = {0};

	env_put(&env, "A=1");
	env_put(&env, "B=2");
	env_put(&env, "A=3=4");
	is_int(env.n, 2);
	is_str(env.v[0], "A=3=4");
	is_str(env.v[1], "B=2");
	ok(!env.v[2]);
	is_str(env_get(&env, "A"), "3=4");
	env_fini(&env);
	ok(!env.v && !env.n);
}

TAP_TEST(env_put__names_that_begin_alike)
{
	struct env env = {0};

	env_put(&env, "AB=1");
	env_put(&env, "A=2");
	env_put(&env, "ABC=3");
	is_int(env.n, 3);
	is_str(env_get(&env, "A"), "2");
	is_str(env_get(&env, "AB"), "1");
	ok(!env_get(&env, "ABCD"));
	ok(!env_get(&env, ""));
	ok(!env_get(&env, "B"));
	env_fini(&env);
}

TAP_TEST(env_get__empty)
{
	struct env env = {0};

	ok(!env_get(&env, "A"));
	env_put(&env, "A=");
	is_str(env_get(&env, "A"), "");
	env_fini(&env);
	ok(!env_get(&env, "A"));
}

TAP_TEST(env_putf__numbers)
{
	struct env env = {0};

	env_put(&env, "N=old");
	env_putf(&env, "N=%d", 7);
	is_int(env.n, 1);
	is_str(env_get(&env, "N"), "7");
	ok(!env.is_broken);
	env_fini(&env);
}

/* A word without "=" is no variable: execve(2) would pass it on all the same. */
TAP_TEST(env_put_all__words_that_are_no_variables)
{
	static char a[] = "A=1", word[] = "word", b[] = "B=2";
	char *const entries[] = {a, word, b, NULL};
	struct env env = {0};

	env_put_all(&env, NULL);
	is_int(env.n, 0);
	env_put_all(&env, entries);
	is_int(env.n, 2);
	is_str(env.v[1], "B=2");
	env_fini(&env);
}

TAP_TEST(env_put__many)
{
	struct env env = {0};
	char text[32];
	int n_wrong = 0;

	for (int i = 0; i < 300; i++) {
		env_putf(&env, "NAME%d=%d", i, i);
		n_wrong += env.n != (size_t)i + 1 || env.v[i + 1] || env.n + 1 > env.room;
	}
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "NAME%d=%d", i, i);
		n_wrong += strcmp(env.v[i], text) != 0;
	}
	is_int(n_wrong, 0);
	env_fini(&env);
}

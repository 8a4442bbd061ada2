// SPDX-License-Identifier: BSD-3-Clause
/* The check for operators. The directory of users is faked and counts the look-ups. */
#include "scheduler/scored/operators.h"

#include <pwd.h>
#include <string.h>

#include "tests/harness/tap.h"

#define ALICE 1001
#define BOB 1002

static bool has_bob;
static int n_asked;

/* Stands in for the C library's. */
struct passwd *getpwnam(const char *name)
{
	static struct passwd who;

	n_asked++;
	if (!strcmp(name, "alice"))
		who.pw_uid = ALICE;
	else if (!strcmp(name, "bob") && has_bob)
		who.pw_uid = BOB;
	else
		return NULL;
	return &who;
}

TAP_TEST(operators_has__root_alone)
{
	struct operators *o = operators_open(NULL, 0);

	must(o);
	ok(operators_has(o, 0, 1));
	ok(!operators_has(o, ALICE, 1));
	ok(!operators_has(o, (uid_t)-1, 1));
	ok(operators_has(NULL, 0, 1));
	ok(!operators_has(NULL, ALICE, 1));
	operators_close(o);
	operators_close(NULL);
}

TAP_TEST(operators_has__looked_up_once)
{
	struct operators *o;

	has_bob = true;
	n_asked = 0;
	o = operators_open("alice,bob", 0);
	must(o);
	for (int i = 0; i < 100; i++) {
		ok(operators_has(o, ALICE, i));
		ok(operators_has(o, BOB, i));
		ok(!operators_has(o, BOB + 1, i));
	}
	is_int(n_asked, 2);
	operators_close(o);
}

TAP_TEST(operators_has__unknown_at_first)
{
	struct operators *o;

	has_bob = false;
	n_asked = 0;
	o = operators_open("bob,alice,", 5);
	must(o);
	is_int(n_asked, 3);
	ok(!operators_has(o, BOB, 5));
	ok(!operators_has(o, (uid_t)-1, 5));
	has_bob = true;
	ok(!operators_has(o, BOB, 5 + OPERATORS_AGAIN_S - 1));
	is_int(n_asked, 3);
	ok(operators_has(o, BOB, 5 + OPERATORS_AGAIN_S));
	is_int(n_asked, 5);
	ok(operators_has(o, ALICE, 5 + OPERATORS_AGAIN_S));
	operators_close(o);
}

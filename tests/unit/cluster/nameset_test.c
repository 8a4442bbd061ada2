// SPDX-License-Identifier: BSD-3-Clause
/* nameset against the plainest model: an array that is searched. */
#include "cluster/nameset.h"
#include "tests/harness/tap.h"

#include <stdio.h>
#include <string.h>

#define NAMES 200
#define STEPS 20000

static char text[NAMES][8];

/* Names in order, each once. */
struct model {
	int names[NAMES];
	int n;
};

static int place_of(const struct model *m, int name)
{
	for (int i = 0; i < m->n; i++)
		if (m->names[i] == name)
			return i;
	return -1;
}

static bool is_same(const struct nameset *set, const struct model *m)
{
	const char *name;
	size_t at = 0;

	for (int i = 0; i < m->n; i++) {
		name = nameset_next(set, &at);
		if (!okf(name && !strcmp(name, text[m->names[i]]), "place %d: %s", i,
			 name ? name : "none"))
			return false;
	}
	return ok(!nameset_next(set, &at)) && is_int(set->n, m->n);
}

static void step(struct nameset *set, struct model *m, int name, bool is_adding)
{
	int place = place_of(m, name);

	if (is_adding) {
		nameset_add(set, text[name]);
		if (place < 0)
			m->names[m->n++] = name;
		return;
	}
	nameset_remove(set, text[name]);
	if (place < 0)
		return;
	m->n--;
	memmove(&m->names[place], &m->names[place + 1], sizeof(int) * (size_t)(m->n - place));
}

TAP_TEST(nameset__random_steps)
{
	uint64_t state = tap_seed();
	struct model model = {.n = 0};
	struct nameset set;

	for (int i = 0; i < NAMES; i++)
		snprintf(text[i], sizeof(text[i]), "n%d", i);
	must(!nameset_init(&set));
	for (int i = 0; i < STEPS; i++) {
		int name = (int)(tap_rand(&state) % NAMES);

		step(&set, &model, name, tap_rand(&state) % 3 > 0);
		if (nameset_has(&set, text[name]) != (place_of(&model, name) >= 0)) {
			okf(false, "step %d: %s", i, text[name]);
			break;
		}
		if (i % 64 == 0 && !is_same(&set, &model))
			break;
	}
	/* gaps are squeezed out, not kept */
	ok(set.room <= 512);
	nameset_fini(&set);
}

TAP_TEST(nameset__empty)
{
	struct nameset set;
	size_t at = 0;

	must(!nameset_init(&set));
	ok(!nameset_has(&set, "a"));
	nameset_remove(&set, "a");
	ok(!nameset_next(&set, &at));
	nameset_fini(&set);
}

TAP_TEST(nameset_place__counts_from_the_first)
{
	struct nameset set;
	char names[100][8];

	must(!nameset_init(&set));
	is_int(nameset_place(&set, "n0"), -1);
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		must(!nameset_add(&set, names[i]));
	}
	is_int(nameset_add(&set, "n7"), 0);
	is_int(nameset_place(&set, "n0"), 0);
	is_int(nameset_place(&set, "n7"), 7);
	is_int(nameset_place(&set, "n99"), 99);
	is_int(nameset_place(&set, "n100"), -1);
	nameset_fini(&set);
}

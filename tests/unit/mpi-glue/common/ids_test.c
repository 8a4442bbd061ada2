// SPDX-License-Identifier: BSD-3-Clause
/* ids: numbers that were given back, repeated or invented must find nothing. */
#include "mpi-glue/common/ids.h"
#include "tests/harness/tap.h"

#include <stddef.h>

TAP_TEST(ids_get__invented)
{
	struct ids t;

	ids_init(&t);
	ok(ids_get(&t, 0) == NULL);
	ok(ids_get(&t, UINT64_MAX) == NULL);
	ok(ids_take(&t, 1ull << 32) == NULL);
	ids_fini(&t);
}

TAP_TEST(ids_take__twice)
{
	struct ids t;
	int object;
	uint64_t id;

	ids_init(&t);
	id = ids_add(&t, &object);
	ok(id != 0);
	ok(ids_get(&t, id) == &object);
	ok(ids_take(&t, id) == &object);
	ok(ids_take(&t, id) == NULL);
	ok(ids_get(&t, id) == NULL);
	is_int(t.used, 0);
	ids_fini(&t);
}

TAP_TEST(ids_add__stale_number_of_a_reused_slot)
{
	struct ids t;
	int first, second;
	uint64_t old, new;

	ids_init(&t);
	old = ids_add(&t, &first);
	ids_take(&t, old);
	new = ids_add(&t, &second);
	is_int((uint32_t) new, (uint32_t)old);
	ok(new != old);
	ok(ids_get(&t, old) == NULL);
	ok(ids_get(&t, new) == &second);
	ids_fini(&t);
}

TAP_TEST(ids_take__generation_wraps_past_zero)
{
	struct ids t;
	int object;
	uint64_t id;

	ids_init(&t);
	id = ids_add(&t, &object);
	t.slots[(uint32_t)id].generation = UINT32_MAX;
	id = (uint64_t)UINT32_MAX << 32 | (uint32_t)id;
	ok(ids_take(&t, id) == &object);
	is_int(t.slots[(uint32_t)id].generation, 1);
	ids_fini(&t);
}

TAP_TEST(ids_add__many_live_through_growth)
{
	static int objects[5000];
	static uint64_t id[5000];
	struct ids t;

	ids_init(&t);
	for (int i = 0; i < 5000; i++)
		id[i] = ids_add(&t, &objects[i]);
	for (int i = 0; i < 5000; i += 2)
		ok(ids_take(&t, id[i]) == &objects[i]);
	for (int i = 0; i < 5000; i++)
		ok(ids_get(&t, id[i]) == (i % 2 ? &objects[i] : NULL));
	is_int(t.used, 2500);
	ids_fini(&t);
}

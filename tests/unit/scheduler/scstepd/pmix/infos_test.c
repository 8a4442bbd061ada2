// SPDX-License-Identifier: BSD-3-Clause
/* infos: an array that grows, copies its values, and remembers a failure. */
#include "scheduler/scstepd/pmix/infos.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define MANY 100

TAP_TEST(infos_add__copies_the_value)
{
	struct infos infos = {0};
	char text[] = "value";

	infos_text(&infos, "a", text);
	infos_u32(&infos, "b", 70000);
	infos_u16(&infos, "c", 7);
	infos_rank(&infos, "d", PMIX_RANK_WILDCARD);
	infos_true(&infos, "e");
	text[0] = 'X';
	must(!infos.is_broken && infos.n == 5);
	is_str(infos.v[0].key, "a");
	is_int(infos.v[0].value.type, PMIX_STRING);
	is_str(infos.v[0].value.data.string, "value");
	is_int(infos.v[1].value.type, PMIX_UINT32);
	is_int(infos.v[1].value.data.uint32, 70000);
	is_int(infos.v[2].value.type, PMIX_UINT16);
	is_int(infos.v[2].value.data.uint16, 7);
	is_int(infos.v[3].value.type, PMIX_PROC_RANK);
	is_int(infos.v[3].value.data.rank, PMIX_RANK_WILDCARD);
	is_int(infos.v[4].value.type, PMIX_BOOL);
	ok(infos.v[4].value.data.flag);
	infos_fini(&infos);
	ok(!infos.v && !infos.n);
}

TAP_TEST(infos_add__grows)
{
	struct infos infos = {0};

	for (uint32_t i = 0; i < MANY; i++)
		infos_u32(&infos, "key", i);
	must(infos.n == MANY);
	for (uint32_t i = 0; i < MANY; i++)
		is_int(infos.v[i].value.data.uint32, i);
	infos_fini(&infos);
}

TAP_TEST(infos_array__takes_the_part)
{
	struct infos infos = {0}, part = {0};
	const pmix_data_array_t *array;

	infos_text(&part, "inner", "x");
	infos_array(&infos, "outer", &part);
	ok(!part.v && !part.n);
	must(infos.n == 1 && !infos.is_broken);
	is_int(infos.v[0].value.type, PMIX_DATA_ARRAY);
	array = infos.v[0].value.data.darray;
	is_int(array->type, PMIX_INFO);
	is_int(array->size, 1);
	is_str(((const pmix_info_t *)array->array)[0].value.data.string, "x");
	infos_fini(&infos);
}

TAP_TEST(infos_array__a_broken_part_breaks_all)
{
	struct infos infos = {0}, part = {0};

	infos_text(&part, "inner", "x");
	part.is_broken = true;
	infos_array(&infos, "outer", &part);
	ok(infos.is_broken);
	ok(!part.v && !part.n);
	infos_fini(&infos);
}

TAP_TEST(infos_find__the_last_of_a_key)
{
	struct infos infos = {0};

	infos_u32(&infos, "a", 1);
	infos_u32(&infos, "ab", 2);
	infos_u32(&infos, "a", 3);
	is_int(infos_find(infos.v, infos.n, "a")->data.uint32, 3);
	is_int(infos_find(infos.v, infos.n, "ab")->data.uint32, 2);
	ok(!infos_find(infos.v, infos.n, "abc"));
	ok(!infos_find(NULL, 0, "a"));
	infos_fini(&infos);
}

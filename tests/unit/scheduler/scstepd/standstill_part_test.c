// SPDX-License-Identifier: BSD-3-Clause
/*
 * standstill_part: what a host says is read as it was written, cut anywhere or changed anywhere it
 * is refused or stays inside of its bytes.
 */
#include "scheduler/scstepd/standstill_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static struct suspend_slot first = {.node = 5, .address_length = 3, .address = "abc"};
static struct suspend_slot second = {.node = 7, .address_length = 1, .address = "z"};
static const struct suspend_slot *const slots[] = {&first, &second};

TAP_TEST(part__comes_back)
{
	size_t size;
	char *data = standstill_part_encode(STANDSTILL_FAILED, "no way", slots, 2, &size);
	struct standstill_part part;
	struct suspend_address address;

	is_int(standstill_part_decode(data, size, &part), size);
	is_int(part.outcome, STANDSTILL_FAILED);
	is_str(part.why, "no way");
	is_int(part.n_addresses, 2);
	ok(standstill_part_address(&part, &address));
	is_int(address.node, 5);
	is_mem(address.bytes, "abc", address.length);
	ok(standstill_part_address(&part, &address));
	is_int(address.node, 7);
	is_int(address.length, 1);
	ok(!standstill_part_address(&part, &address));
	free(data);
}

TAP_TEST(part__without_reason_and_addresses)
{
	size_t size;
	char *data = standstill_part_encode(STANDSTILL_DONE, "", NULL, 0, &size);
	struct standstill_part part;

	is_int(standstill_part_decode(data, size, &part), size);
	is_int(part.outcome, STANDSTILL_DONE);
	is_str(part.why, "");
	is_int(part.n_addresses, 0);
	free(data);
}

TAP_TEST(part__what_is_too_long_is_cut)
{
	struct suspend_slot long_one = {.address_length = UINT32_MAX};
	const struct suspend_slot *const one[] = {&long_one};
	char why[2 * STANDSTILL_WHY];
	size_t size;
	char *data;
	struct standstill_part part;
	struct suspend_address address;

	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = 0;
	data = standstill_part_encode(STANDSTILL_LATE, why, one, 1, &size);
	is_int(standstill_part_decode(data, size, &part), size);
	is_int(strlen(part.why), STANDSTILL_WHY - 1);
	ok(standstill_part_address(&part, &address));
	is_int(address.length, SUSPEND_ADDRESS_MAX);
	free(data);
}

TAP_TEST(part__every_cut_is_refused)
{
	size_t size;
	char *data = standstill_part_encode(STANDSTILL_LATE, "why", slots, 2, &size);
	struct standstill_part part;

	for (size_t cut = 0; cut < size; cut++) {
		char *some = malloc(cut ? cut : 1);

		memcpy(some, data, cut);
		is_int(standstill_part_decode(some, cut, &part), -EPROTO);
		free(some);
	}
	free(data);
}

/* Under a sanitizer each read outside would be seen. */
TAP_TEST(part__every_changed_byte_is_refused_or_read_inside)
{
	size_t size;
	char *data = standstill_part_encode(STANDSTILL_LATE, "why", slots, 2, &size);

	for (size_t at = 0; at < size; at++) {
		for (int value = 0; value < 256; value++) {
			char *changed = malloc(size), before = data[at];
			struct standstill_part part;
			struct suspend_address address;
			ssize_t used;

			memcpy(changed, data, size);
			changed[at] = (char)value;
			used = standstill_part_decode(changed, size, &part);
			ok(used == -EPROTO || (used > 0 && (size_t)used <= size));
			while (used > 0 && standstill_part_address(&part, &address))
				ok(address.length <= SUSPEND_ADDRESS_MAX);
			ok(data[at] == before);
			free(changed);
		}
	}
	free(data);
}

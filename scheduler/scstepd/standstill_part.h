/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standstill_part - a host's word on how an order of a standstill went, as the collective carries
 * it: parts of all hosts stand behind each other. In the byte order of the sender; hosts of another
 * one are refused before.
 *
 *   struct head; why, without a zero; per address: u32 node, u32 length, bytes
 */
#ifndef SCHEDULER_SCSTEPD_STANDSTILL_PART_H
#define SCHEDULER_SCSTEPD_STANDSTILL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmcore/util/suspend_page.h"
#include "scheduler/scstepd/standstill_plan.h"

struct standstill_part {
	enum standstill_outcome outcome;
	char why[STANDSTILL_WHY];
	uint32_t n_addresses;
	const char *addresses; /* in the data; for standstill_part_address */
	size_t size;           /* of them, bytes */
};

/*
 * The part as bytes, to be freed; the addresses are of the slots @slots[] of the page, @n of them,
 * and only there after SUSPEND_REVIVE. NULL: no memory.
 */
char *standstill_part_encode(enum standstill_outcome outcome, const char *why,
			     const struct suspend_slot *const *slots, uint32_t n, size_t *ret_size);
/*
 * The part at the beginning of @data. Bytes of it, or -EPROTO.
 */
ssize_t standstill_part_decode(const char *data, size_t size, struct standstill_part *ret);
/* The next address of a part that was decoded, and takes it out; false: there are no more. */
bool standstill_part_address(struct standstill_part *part, struct suspend_address *ret);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packetrow - fills a buffer with a datagram of a row (pm_device.h), for links that make each of
 * them a packet.
 */
#ifndef PMCORE_UTIL_PACKETROW_H
#define PMCORE_UTIL_PACKETROW_H

#include <string.h>

#include "pm_device.h"
#include "pmcore/util/copy.h"

/* Writes to @to the datagram with which the row goes on at @at bytes of its data. */
static inline void packetrow_fill(const struct pm_row *row, uint64_t at, uint8_t *to)
{
	const struct pm_row_head *head = pm_row_head(row, at);
	uint32_t part = pm_row_part(row, at);

	memcpy(to, head->data, head->len);
	if (row->data)
		copy_bytes(to + head->len, row->data + at, part);
	else
		row->gather(row->arg, to + head->len, part);
}

#endif

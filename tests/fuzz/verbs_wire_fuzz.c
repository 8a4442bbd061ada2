// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a message over a connection or as a greeting: what is let through writes the same
 * bytes again. First byte: even = message, odd = greeting, whose tag is made right so that what it
 * covers is looked at.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/wire.h"
#include "pm_device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const uint8_t *data, size_t size)
{
	struct pmv_control control;
	struct pmv_header header;
	uint8_t again[PMV_CONTROL_MAX];
	uint32_t token = 0;

	if (size >= PMV_HEADER)
		memcpy(&token, data + 4, sizeof(token));
	if (pmv_header_get(data, size, ~token, &header) != -EBADMSG)
		abort(); /* it is another's */
	if (pmv_header_get(data, size, token, &header))
		return;
	pmv_header_put(again, &header);
	if (memcmp(again, data, PMV_HEADER))
		abort();
	if (pmv_is_handed_up(header.kind) || pmv_control_get(data, size, header.kind, &control))
		return;
	if (control.addr + control.len < control.addr || control.error > 4095 ||
	    control.lane > PM_RAILS_MAX)
		abort();
	if (header.kind == PMV_LANE &&
	    (!control.lane || control.qp > 0xffffff || control.psn > 0xffffff ||
	     control.yours > 0xffffff || (!control.qp && control.yours)))
		abort();
	pmv_control_put(again + PMV_HEADER, header.kind, &control);
	if (memcmp(again, data, size))
		abort();
}

static void check_greeting(const uint8_t *data, size_t size)
{
	struct pmv_greeting greeting, twice;
	uint8_t again[PMV_GREETING_BYTES], same[PMV_GREETING_BYTES];

	if (!pmv_greeting_get(data, size, 1, &greeting))
		abort(); /* nobody guesses a tag */
	if (size < sizeof(greeting))
		return;
	memcpy(&greeting, data, sizeof(greeting));
	pmv_greeting_put(again, &greeting, 1);
	if (pmv_greeting_get(again, sizeof(again), 1, &twice))
		return;
	if (twice.qp > 0xffffff || twice.psn > 0xffffff || twice.credits > 0xffff || !twice.epoch ||
	    !twice.life || (!twice.heard && twice.received) || (twice.flags & PMV_WAIT && twice.qp))
		abort();
	pmv_greeting_put(same, &twice, 1);
	if (memcmp(same, again, sizeof(same)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		check_greeting(data + 1, size - 1);
	else
		check_message(data + 1, size - 1);
	return 0;
}

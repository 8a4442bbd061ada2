// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a greeting or a request of a stream: what is let through writes the same bytes
 * again, and has an end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-udp/stream/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_greeting(const uint8_t *data)
{
	uint8_t again[PMT_GREETING];
	struct pmt_greeting greeting;

	if (pmt_greeting_get(data, &greeting))
		return;
	pmt_greeting_put(again, &greeting);
	if (memcmp(again, data, sizeof(again)))
		abort();
}

static void check_request(const uint8_t *data)
{
	uint8_t again[PMT_REQUEST];
	struct pmt_request request;

	if (pmt_request_get(data, &request))
		return;
	if (request.offset + request.length < request.offset)
		abort();
	pmt_request_put(again, &request);
	if (memcmp(again, data, sizeof(again)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= PMT_GREETING)
		check_greeting(data);
	if (size >= PMT_REQUEST)
		check_request(data);
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a datagram of another MPI process, to mtl/pm and to btl/pm: a header that is let
 * through lies in the datagram, and so do the numbers that it counts. None is for both.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/common/active.h"
#include "mpi-glue/common/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether btl/pm takes it. */
static bool check_active(const void *datagram, size_t size)
{
	const struct active_head *head = datagram;
	int length = active_parse(datagram, size);

	if (length < 0)
		return false;
	if ((size_t)length > size || (size_t)length < sizeof(*head))
		abort();
	if (head->kind == ACTIVE_DONE && head->length > (size - sizeof(*head)) / sizeof(uint64_t))
		abort();
	return true;
}

/* Whether mtl/pm does. */
static bool check_envelope(const void *datagram, size_t size)
{
	int length = envelope_parse(datagram, size);

	if (length >= 0 && (size_t)length > size)
		abort();
	return length >= 0;
}

/* PM lends datagrams at multiples of 8. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t *datagram = malloc(size ? size : 1);

	if (!datagram)
		return 0;
	memcpy(datagram, data, size);
	if (check_active(datagram, size) && check_envelope(datagram, size))
		abort();
	free(datagram);
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as an answer of the kernel about a socket: no byte behind the answer is read, what is
 * let through is of its kind, and an answer that is refused changes nothing. The first byte says
 * the kind, the others are the answer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scnoded/holdings/sockdiag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static bool decode(uint8_t kind, const void *body, size_t size, struct held_socket *ret)
{
	switch (kind % 3) {
	case 0:
		return sockdiag_decode_inet(body, size, HELD_TCP, ret);
	case 1:
		return sockdiag_decode_inet(body, size, HELD_UDP, ret);
	default:
		return sockdiag_decode_unix(body, size, ret);
	}
}

static void check(uint8_t kind, const struct held_socket *s)
{
	static const enum held_kind kinds[] = {HELD_TCP, HELD_UDP, HELD_UNIX};

	require(s->kind == kinds[kind % 3]);
	if (s->kind == HELD_UNIX)
		require(s->peer <= UINT32_MAX && !s->here.sin6_family);
	else
		require(s->here.sin6_family == AF_INET6 && s->there.sin6_family == AF_INET6 &&
			!s->peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held_socket s, untouched;
	uint8_t *body;

	if (!size)
		return 0;
	body = malloc(size); /* as aligned as the kernel's answers are */
	require(body != NULL);
	memcpy(body, data + 1, size - 1);
	memset(&s, 0xa5, sizeof(s));
	untouched = s;
	if (decode(data[0], body, size - 1, &s))
		check(data[0], &s);
	else
		require(!memcmp(&s, &untouched, sizeof(s)));
	free(body);
	return 0;
}

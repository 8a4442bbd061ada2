// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/wire/atomic.h"

#include <endian.h>
#include <string.h>

#include "pmcore/util/atomic.h"

#define ERROR_MAX 4095 /* of an errno */

static void put_words(uint8_t *buf, const uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t word = htole64(words[i]);

		memcpy(buf + 8 * i, &word, sizeof(word));
	}
}

uint32_t wire_atomic_put(uint8_t *buf, const struct wire_atomic *m)
{
	if (m->kind == WIRE_ATOMIC_ANSWER) {
		const uint64_t words[] = {m->kind | (uint64_t)m->error << 32, m->id, m->before};

		put_words(buf, words, 3);
		return WIRE_ATOMIC_ANSWER_BYTES;
	}
	const uint64_t words[] = {m->kind | m->op << 8 | m->width << 16,
				  m->id,
				  m->rkey,
				  m->offset,
				  m->operand,
				  m->compare};

	put_words(buf, words, 6);
	return WIRE_ATOMIC_BYTES;
}

bool wire_atomic_get(const void *data, uint32_t len, struct wire_atomic *ret)
{
	uint64_t words[WIRE_ATOMIC_BYTES / 8];

	if (len != WIRE_ATOMIC_BYTES && len != WIRE_ATOMIC_ANSWER_BYTES)
		return false;
	memcpy(words, data, len);
	for (uint32_t i = 0; i < len / 8; i++)
		words[i] = le64toh(words[i]);
	memset(ret, 0, sizeof(*ret));
	ret->kind = (uint8_t)words[0];
	ret->id = words[1];
	if (ret->kind == WIRE_ATOMIC_ANSWER && len == WIRE_ATOMIC_ANSWER_BYTES) {
		ret->error = (uint32_t)(words[0] >> 32);
		ret->before = words[2];
		return !(words[0] & 0xffffff00) && ret->error <= ERROR_MAX;
	}
	ret->op = (uint8_t)(words[0] >> 8);
	ret->width = (uint8_t)(words[0] >> 16);
	ret->rkey = words[2];
	ret->offset = words[3];
	ret->operand = words[4];
	ret->compare = words[5];
	return ret->kind == WIRE_ATOMIC && len == WIRE_ATOMIC_BYTES && !(words[0] >> 24) &&
	       atomic_is_op(ret->op) && (ret->width == 4 || ret->width == 8);
}

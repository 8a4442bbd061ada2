// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scstepd/standstill_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct head {
	uint32_t outcome;
	uint32_t why_size; /* bytes */
	uint32_t n_addresses;
	uint32_t addresses_size; /* bytes of all */
};

static uint32_t length_of(const struct suspend_slot *slot)
{
	/* a rank wrote it, and may write it again */
	uint32_t length = __atomic_load_n(&slot->address_length, __ATOMIC_RELAXED);

	return length < SUSPEND_ADDRESS_MAX ? length : SUSPEND_ADDRESS_MAX;
}

char *standstill_part_encode(enum standstill_outcome outcome, const char *why,
			     const struct suspend_slot *const *slots, uint32_t n, size_t *ret_size)
{
	struct head h = {outcome, (uint32_t)strnlen(why, STANDSTILL_WHY - 1), n, 0};
	char *data, *at;

	/* their lengths are read once: the ranks might change them */
	data = malloc(sizeof(h) + h.why_size + n * sizeof(struct suspend_address));
	if (!data)
		return NULL;
	at = data + sizeof(h);
	memcpy(at, why, h.why_size);
	at += h.why_size;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t word[] = {slots[i]->node, length_of(slots[i])};

		memcpy(at, word, sizeof(word));
		memcpy(at + sizeof(word), slots[i]->address, word[1]);
		at += sizeof(word) + word[1];
		h.addresses_size += (uint32_t)sizeof(word) + word[1];
	}
	memcpy(data, &h, sizeof(h));
	*ret_size = (size_t)(at - data);
	return data;
}

/* Whether @n addresses fill @size bytes. */
static bool are_addresses(const char *at, size_t size, uint32_t n)
{
	while (n--) {
		uint32_t word[2];

		if (size < sizeof(word))
			return false;
		memcpy(word, at, sizeof(word));
		if (word[1] > SUSPEND_ADDRESS_MAX || word[1] > size - sizeof(word))
			return false;
		at += sizeof(word) + word[1];
		size -= sizeof(word) + word[1];
	}
	return !size;
}

/* A rank's own words, for messages and terminals. */
static void take_why(char *why, const char *data, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		why[i] = data[i] >= ' ' && data[i] <= '~' ? data[i] : '?';
	why[size] = 0;
}

ssize_t standstill_part_decode(const char *data, size_t size, struct standstill_part *ret)
{
	struct head h;
	size_t all;

	if (size < sizeof(h))
		return -EPROTO;
	memcpy(&h, data, sizeof(h));
	all = sizeof(h) + (size_t)h.why_size + h.addresses_size;
	if (h.outcome > STANDSTILL_FAILED || h.why_size >= STANDSTILL_WHY || all > size)
		return -EPROTO;
	ret->outcome = (enum standstill_outcome)h.outcome;
	take_why(ret->why, data + sizeof(h), h.why_size);
	ret->n_addresses = h.n_addresses;
	ret->addresses = data + sizeof(h) + h.why_size;
	ret->size = h.addresses_size;
	return are_addresses(ret->addresses, ret->size, h.n_addresses) ? (ssize_t)all : -EPROTO;
}

bool standstill_part_address(struct standstill_part *part, struct suspend_address *ret)
{
	uint32_t word[2];

	if (!part->n_addresses)
		return false;
	memcpy(word, part->addresses, sizeof(word));
	ret->node = word[0];
	ret->length = word[1];
	memcpy(ret->bytes, part->addresses + sizeof(word), word[1]);
	part->addresses += sizeof(word) + word[1];
	part->n_addresses--;
	return true;
}

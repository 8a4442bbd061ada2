// SPDX-License-Identifier: BSD-3-Clause
/* pattern - eight bytes at a time: word k of a stream is a mix of its seed and k. */
#include "pmcore/tools/common/pattern.h"

#include <errno.h>
#include <string.h>

#include "pmcore/util/splitmix.h"

uint64_t pattern_random(uint64_t *state)
{
	return splitmix_next(state);
}

static uint64_t word_at(uint64_t key, uint64_t index)
{
	return (key ^ (index + 1) * SPLITMIX_GOLDEN) * 0xbf58476d1ce4e5b9ull;
}

/* Bytes [start, start + len) that lie within one word. */
static void part_of_word(uint64_t key, uint64_t start, uint8_t *to, size_t len)
{
	uint64_t word = word_at(key, start / 8);

	memcpy(to, (const uint8_t *)&word + start % 8, len);
}

/* The bytes until the next word of the stream begins, at most @len. */
static size_t head_len(uint64_t start, size_t len)
{
	size_t head = start % 8 ? 8 - start % 8 : 0;

	return head < len ? head : len;
}

void pattern_fill(void *buf, size_t len, uint64_t seed, uint64_t start)
{
	uint64_t key = splitmix_mix(seed), index, word;
	uint8_t *to = buf;
	size_t head = head_len(start, len);

	part_of_word(key, start, to, head);
	to += head;
	len -= head;
	index = (start + head) / 8;
	for (; len >= 8; len -= 8, to += 8) {
		word = word_at(key, index++);
		memcpy(to, &word, 8);
	}
	if (len)
		part_of_word(key, index * 8, to, len);
}

/* Compares up to one word; the position of the first difference or @len. */
static size_t check_part(uint64_t key, uint64_t start, const uint8_t *from, size_t len,
			 struct pattern_fault *fault)
{
	uint8_t want[8];
	size_t i = 0;

	part_of_word(key, start, want, len);
	while (i < len && from[i] == want[i])
		i++;
	if (i < len)
		*fault = (struct pattern_fault){start + i, want[i], from[i]};
	return i;
}

int pattern_check(const void *buf, size_t len, uint64_t seed, uint64_t start,
		  struct pattern_fault *ret_fault)
{
	uint64_t key = splitmix_mix(seed), word;
	const uint8_t *from = buf;
	size_t part = head_len(start, len);

	while (len) {
		if (part == 0 && len >= 8) {
			memcpy(&word, from, 8);
			part = 8;
			if (word == word_at(key, start / 8))
				goto next;
		} else if (part == 0) {
			part = len;
		}
		if (check_part(key, start, from, part, ret_fault) < part)
			return -EBADMSG;
next:
		from += part;
		start += part;
		len -= part;
		part = 0;
	}
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/harmless.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Unicode's categories Cc, Cf, Cs, Co, Zl and Zp, and what stands among them. */
static const struct range {
	uint32_t first, last;
} harmful[] = {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
	       {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
	       {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
	       {0x2060, 0x206f},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
	       {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
	       {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff}};

static bool is_harmful(uint32_t letter)
{
	if (letter == '\t')
		return false;
	for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
		if (letter >= harmful[i].first && letter <= harmful[i].last)
			return true;
	return false;
}

/* The bytes of the character at @text, and itself; 0: they are no UTF-8 (RFC 3629). */
static size_t decode(const unsigned char *text, uint32_t *ret_letter)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *text < 0x80         ? 1
		   : *text >> 5 == 0x06 ? 2
		   : *text >> 4 == 0x0e ? 3
		   : *text >> 3 == 0x1e ? 4
					: 0;
	uint32_t letter = n == 1 ? *text : *text & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if (text[i] >> 6 != 2)
			return 0; /* also the end of the text */
		letter = letter << 6 | (text[i] & 0x3f);
	}
	if (!n || letter < least[n] || letter > 0x10ffff)
		return 0;
	*ret_letter = letter;
	return n;
}

void harmless_make(char *text)
{
	const char *from = text;

	while (*from) {
		uint32_t letter;
		size_t n = decode((const unsigned char *)from, &letter);

		if (!n || is_harmful(letter)) {
			*text++ = '?';
			from += n ? n : 1;
			continue;
		}
		memmove(text, from, n);
		text += n;
		from += n;
	}
	*text = '\0';
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy - copies of data, some of which another core reads next. An ordinary copy first fetches each
 * line of the target, from the other core's cache where that has read what lay there before. Stores
 * past the caches write whole lines without looking, and the other core reads from memory. Which is
 * better depends on the distance: channel/copier.c.
 */
#ifndef PM_UTIL_COPY_H
#define PM_UTIL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define COPY_LINE 64

enum copy_way {
	COPY_ORDINARY, /* copy_bytes */
	/* by the processor's string instruction, where copy_has_strings, unless copy_is_close */
	COPY_STRING,
	COPY_PAST_CACHES, /* see copy_past_caches */
};

/*
 * Is there a string instruction that is made for long copies? "Enhanced rep movsb", CPUID leaf 7,
 * EBX bit 9.
 */
static inline bool copy_has_strings(void)
{
#ifdef __x86_64__
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 9 & 1;
#else
	return false;
#endif
}

static inline void copy_string(void *to, const void *from, size_t len)
{
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
#else
	memcpy(to, from, len);
#endif
}

/*
 * Some processors' string instruction copies at a tenth of its speed when the target lies a few
 * bytes further in its page than the source does in its own. AMD's Zen 3 does so at 1 to 31 bytes
 * (measured: 2 GB/s in place of 33). It is no rare case: what malloc gives begins 16 bytes behind a
 * page. memcpy of the C library uses the instruction from some length on
 * (glibc.cpu.x86_rep_movsb_threshold: 2112 there).
 */
#define COPY_PAGE 4096
#define COPY_CLOSE 32
/* Shorter copies are made by other instructions. */
#define COPY_PIECE 1984

static inline bool copy_is_close(const void *to, const void *from)
{
	return (((uintptr_t)to - (uintptr_t)from) & (COPY_PAGE - 1)) - 1 < COPY_CLOSE - 1;
}

static inline void copy_in_pieces(void *to, const void *from, size_t len)
{
	const uint8_t *s = from;
	uint8_t *d = to;
	size_t piece = COPY_PIECE;

	/* of a length that it knows the compiler makes a string instruction by itself */
	__asm__("" : "+r"(piece));
	for (; len > piece; len -= piece, s += piece, d += piece)
		memcpy(d, s, piece);
	memcpy(d, s, len);
}

/* As memcpy. */
static inline void copy_bytes(void *to, const void *from, size_t len)
{
	if (len > COPY_PIECE && copy_is_close(to, from))
		copy_in_pieces(to, from, len);
	else
		memcpy(to, from, len);
}

/* As memcpy. Before anybody else is told of the bytes: copy_end. */
static inline void copy_past_caches(void *to, const void *from, size_t len)
{
#ifdef __SSE2__
	size_t head = -(uintptr_t)to & (COPY_LINE - 1), lines;
	const uint8_t *s = from;
	uint8_t *d = to;

	if (len < head + COPY_LINE) {
		memcpy(to, from, len);
		return;
	}
	memcpy(d, s, head);
	d += head;
	s += head;
	len -= head;
	for (lines = len / COPY_LINE; lines; lines--, d += COPY_LINE, s += COPY_LINE)
		for (size_t i = 0; i < COPY_LINE; i += sizeof(__m128i))
			_mm_stream_si128((__m128i *)(void *)(d + i),
					 _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
	memcpy(d, s, len % COPY_LINE);
#else
	memcpy(to, from, len);
#endif
}

/* All bytes copied so far are in memory before those written from here on. */
static inline void copy_end(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

static inline void copy_by(enum copy_way way, void *to, const void *from, size_t len)
{
	if (way == COPY_PAST_CACHES)
		copy_past_caches(to, from, len);
	else if (way == COPY_STRING && !copy_is_close(to, from))
		copy_string(to, from, len);
	else
		copy_bytes(to, from, len);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the frames of a connection: what is let through lies within the bytes and comes out
 * the same again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct frame *frame, const char *from, size_t used, size_t size)
{
	size_t head_size = 0, again_used = 0;
	struct frame again;
	char *head, *whole;

	require(used <= size && used >= FRAME_HEAD_BYTES);
	require(frame->body >= from && frame->body + frame->body_size == from + used);
	require(json_is_string(json_object_get(frame->head, "op")));
	head = frame_encode(frame->head, frame->body_size, &head_size);
	require(head != NULL);
	whole = malloc(head_size + frame->body_size);
	require(whole != NULL);
	memcpy(whole, head, head_size);
	memcpy(whole + head_size, frame->body, frame->body_size);
	require(frame_decode(&again, whole, head_size + frame->body_size, FRAME_MAX, &again_used) ==
		1);
	require(again_used == head_size + frame->body_size);
	require(again.body_size == frame->body_size && json_equal(again.head, frame->head));
	json_decref(again.head);
	free(whole);
	free(head);
}

static size_t values_of(const json_t *json)
{
	const json_t *value;
	const char *name;
	size_t i, n = 1;

	json_array_foreach(json, i, value)
		n += values_of(value);
	json_object_foreach((json_t *)(uintptr_t)json, name, value)
		n += 1 + values_of(value);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	uint64_t job;

	if (size >= PREAMBLE_BYTES)
		require(preamble_decode(at, &job) == 0 || memcmp(at, PREAMBLE_MAGIC, 8));
	while (size) {
		struct frame frame;
		size_t used = 0;
		int got = frame_decode(&frame, at, size, FRAME_MAX_STRANGER, &used);

		require(got == 1 || (!used && (!got || got == -EMSGSIZE || got == -EPROTO)));
		if (got != 1)
			break;
		check(&frame, at, used, size);
		require(frame_values(at, size) >= values_of(frame.head));
		json_decref(frame.head);
		at += used;
		size -= used;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame - how a message lies on a connection: a head in JSON, and bytes behind it that need no
 * quoting (standard output, fence data). Pure: works on bytes in memory.
 *
 *   bytes 0-3   length of all that follows, big endian
 *   bytes 4-7   length of the head, big endian
 *   head        one JSON object; its string "op" says what the message is (scheduler/proto/messages.def)
 *   body        the rest, uninterpreted
 *
 * Before all frames the side that connected sends a preamble, so that the one port of a host serves
 * its scnoded and every scstepd. It is 8 bytes PREAMBLE_MAGIC and 8 bytes number of the job that is
 * wanted, big endian; 0 = the daemon that listens.
 */
#ifndef SCHEDULER_PROTO_FRAME_H
#define SCHEDULER_PROTO_FRAME_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define PREAMBLE_MAGIC "OSCORE1\n"
#define PREAMBLE_BYTES 16
#define FRAME_HEAD_BYTES 8
#define FRAME_MAX (16u << 20)    /* bytes of a frame, all included */
#define FRAME_MAX_STRANGER 8192u /* of one from somebody who is not authenticated yet */
#define FRAME_CHUNK (64u << 10)  /* most bytes of standard input or output in one frame */

/* A frame as it lies in the caller's buffer. */
struct frame {
	json_t *head;     /* owned by the caller, json_decref() */
	const char *body; /* points into the buffer */
	size_t body_size;
};

/*
 * Takes one frame from the @size bytes at @data. 1 = *@ret holds it and *@used bytes are done with.
 * 0 = more bytes are needed. -EMSGSIZE = longer than @limit. -EPROTO = lengths that do not fit
 * together, no JSON object, no "op". -ENOMEM. The JSON is decoded with duplicate keys refused.
 */
int frame_decode(struct frame *ret, const char *data, size_t size, size_t limit, size_t *used);

/*
 * About how many values and names the JSON of a whole frame has, counted without taking it. A head
 * of a few bytes per value takes many times as long as its size lets one think. Never less than
 * there are.
 */
size_t frame_values(const char *data, size_t size);

/*
 * The head as bytes: @body_size bytes of body are to follow them. NULL = no memory or over
 * FRAME_MAX. free() it.
 */
char *frame_encode(const json_t *head, size_t body_size, size_t *size);

void preamble_encode(char to[PREAMBLE_BYTES], uint64_t job);
/* 0 and the job wanted, or -EPROTO. */
int preamble_decode(const char from[PREAMBLE_BYTES], uint64_t *job);

#endif

// SPDX-License-Identifier: BSD-3-Clause
/* frame - lengths in front of a JSON head and bytes behind it. Knows no socket and no message. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/frame.h"

#define LENGTH_BYTES 4  /* of one length on the wire */
#define HEAD_GUESS 1016 /* bytes most heads fit in */

static size_t get_length(const char *from)
{
	uint32_t be;

	memcpy(&be, from, sizeof(be));
	return ntohl(be);
}

static void put_length(char *to, size_t length)
{
	uint32_t be = htonl((uint32_t)length);

	memcpy(to, &be, sizeof(be));
}

static int decode_head(json_t **ret, const char *text, size_t size)
{
	json_error_t error;
	json_t *head = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

	if (!head)
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EPROTO;
	if (!json_is_object(head) || !json_is_string(json_object_get(head, "op"))) {
		json_decref(head);
		return -EPROTO;
	}
	*ret = head;
	return 0;
}

int frame_decode(struct frame *ret, const char *data, size_t size, size_t limit, size_t *used)
{
	size_t all, head_size;
	json_t *head;
	int err;

	if (size < LENGTH_BYTES)
		return 0;
	all = LENGTH_BYTES + get_length(data);
	if (all > limit)
		return -EMSGSIZE;
	if (all < FRAME_HEAD_BYTES)
		return -EPROTO;
	if (size >= FRAME_HEAD_BYTES && get_length(data + LENGTH_BYTES) > all - FRAME_HEAD_BYTES)
		return -EPROTO;
	if (size < all)
		return 0;
	head_size = get_length(data + LENGTH_BYTES);
	err = decode_head(&head, data + FRAME_HEAD_BYTES, head_size);
	if (err)
		return err;
	ret->head = head;
	ret->body = data + FRAME_HEAD_BYTES + head_size;
	ret->body_size = all - FRAME_HEAD_BYTES - head_size;
	*used = all;
	return 1;
}

/* Every value and name but the first stands behind one of these; in texts they mean nothing. */
static size_t count_values(const char *text, const char *end)
{
	size_t n = 1;

	for (; text < end; text++) {
		switch (*text) {
		case '"':
			for (text++; text < end && *text != '"'; text++)
				text += *text == '\\';
			break;
		case ',':
		case ':':
		case '[':
		case '{':
			n++;
		}
	}
	return n;
}

size_t frame_values(const char *data, size_t size)
{
	size_t head_size = size < FRAME_HEAD_BYTES ? 0 : get_length(data + LENGTH_BYTES);

	if (size < FRAME_HEAD_BYTES || size < LENGTH_BYTES + get_length(data) ||
	    head_size > size - FRAME_HEAD_BYTES)
		return 0;
	return count_values(data + FRAME_HEAD_BYTES, data + FRAME_HEAD_BYTES + head_size);
}

char *frame_encode(const json_t *head, size_t body_size, size_t *size)
{
	size_t room = HEAD_GUESS, head_size;
	char *to = NULL, *more;

	for (;;) {
		more = realloc(to, FRAME_HEAD_BYTES + room);
		if (!more)
			break;
		to = more;
		head_size = json_dumpb(head, to + FRAME_HEAD_BYTES, room, JSON_COMPACT);
		if (!head_size || head_size > FRAME_MAX - FRAME_HEAD_BYTES ||
		    body_size > FRAME_MAX - FRAME_HEAD_BYTES - head_size)
			break;
		if (head_size > room) {
			room = head_size;
			continue;
		}
		put_length(to, FRAME_HEAD_BYTES - LENGTH_BYTES + head_size + body_size);
		put_length(to + LENGTH_BYTES, head_size);
		*size = FRAME_HEAD_BYTES + head_size;
		return to;
	}
	free(to);
	return NULL;
}

void preamble_encode(char to[PREAMBLE_BYTES], uint64_t job)
{
	uint64_t be = htobe64(job);

	memcpy(to, PREAMBLE_MAGIC, PREAMBLE_BYTES - sizeof(be));
	memcpy(to + PREAMBLE_BYTES - sizeof(be), &be, sizeof(be));
}

int preamble_decode(const char from[PREAMBLE_BYTES], uint64_t *job)
{
	uint64_t be;

	if (memcmp(from, PREAMBLE_MAGIC, PREAMBLE_BYTES - sizeof(be)))
		return -EPROTO;
	memcpy(&be, from + PREAMBLE_BYTES - sizeof(be), sizeof(be));
	*job = be64toh(be);
	return 0;
}

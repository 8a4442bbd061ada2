// SPDX-License-Identifier: BSD-3-Clause
/*
 * codec - the wire format in both directions. wire_decode_header and wire_check_body are where
 * untrusted bytes become trusted structures: one function per part of a packet, each checks all it
 * lets through. Knows no peers, keys or windows; keeps no state.
 */
#include "pmcore/wire/codec.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "pmcore/util/crc32c.h"

#define HEADER_BYTES sizeof(struct wire_header)
#define MSG_BYTES sizeof(struct wire_msg)

static void get_header(const uint8_t *data, struct wire_header *ret)
{
	memcpy(ret, data, sizeof(*ret));
	ret->length = le16toh(ret->length);
	ret->credit = le16toh(ret->credit);
	ret->key = le64toh(ret->key);
	ret->src = le32toh(ret->src);
	ret->dst = le32toh(ret->dst);
	ret->seq = le32toh(ret->seq);
	ret->rail_seq = le32toh(ret->rail_seq);
	ret->ack = le32toh(ret->ack);
	ret->sack = le32toh(ret->sack);
	ret->rail_ack = le32toh(ret->rail_ack);
	ret->crc = le32toh(ret->crc);
}

static void get_msg(const uint8_t *at, struct wire_msg *ret)
{
	memcpy(ret, at, sizeof(*ret));
	ret->length = le16toh(ret->length);
	ret->op = le32toh(ret->op);
}

static void get_ack(const uint8_t *at, struct wire_ack *ret)
{
	int rail;

	memcpy(ret, at, sizeof(*ret));
	for (rail = 0; rail < WIRE_RAILS; rail++)
		ret->rail_next[rail] = le32toh(ret->rail_next[rail]);
	ret->n_words = le32toh(ret->n_words);
}

/* CRC of a packet whose crc field counts as 0. */
static uint32_t packet_crc(const uint8_t *data, uint32_t len)
{
	static const uint8_t zero[sizeof(uint32_t)];
	const uint32_t at = offsetof(struct wire_header, crc);
	uint32_t crc;

	crc = crc32c(0, data, at);
	crc = crc32c(crc, zero, sizeof(zero));
	return crc32c(crc, data + HEADER_BYTES, len - HEADER_BYTES);
}

/* Where the message behind one of @length payload bytes at @at begins. */
static uint32_t skip_msg(uint32_t at, uint32_t length)
{
	return (at + MSG_BYTES + length + WIRE_ALIGN - 1) & ~(uint32_t)(WIRE_ALIGN - 1);
}

/* An empty body is legal: a message taken back after its number was given leaves one. */
static inline __attribute__((always_inline)) enum drop_reason check_messages(const uint8_t *body,
									     uint32_t len)
{
	struct wire_msg msg;
	uint32_t at = 0;

	while (at < len) {
		if (len - at < MSG_BYTES)
			return DROP_MALFORMED;
		get_msg(body + at, &msg);
		if (msg.kind < WIRE_DATAGRAM || msg.kind > WIRE_WRITTEN)
			return DROP_MALFORMED;
		if (msg.kind == WIRE_DATAGRAM && !msg.length)
			return DROP_MALFORMED;
		if (msg.length == len - at - MSG_BYTES)
			return DROP_NONE;
		if (msg.length > len - at - MSG_BYTES)
			return DROP_MALFORMED;
		at = skip_msg(at, msg.length);
		if (at >= len)
			return DROP_MALFORMED; /* ends within or right behind padding */
	}
	return DROP_NONE;
}

static enum drop_reason check_ack(const uint8_t *body, uint32_t len)
{
	struct wire_ack ack;

	if (len < sizeof(ack))
		return DROP_MALFORMED;
	get_ack(body, &ack);
	if (ack.n_words > WIRE_WINDOW_MAX / 64)
		return DROP_MALFORMED;
	return len == sizeof(ack) + ack.n_words * sizeof(uint64_t) ? DROP_NONE : DROP_MALFORMED;
}

enum drop_reason wire_decode_header(const uint8_t *data, uint32_t len,
				    struct wire_header *ret_header)
{
	uint16_t length;

	if (len < HEADER_BYTES)
		return DROP_TRUNCATED;
	if (data[offsetof(struct wire_header, version)] != WIRE_VERSION)
		return DROP_VERSION;
	if ((uint8_t)(data[offsetof(struct wire_header, type)] - WIRE_DATA) >
	    WIRE_PROBE - WIRE_DATA)
		return DROP_TYPE;
	if (data[offsetof(struct wire_header, rail)] >= WIRE_RAILS)
		return DROP_RAIL;
	memcpy(&length, data + offsetof(struct wire_header, length), sizeof(length));
	if (le16toh(length) > len - HEADER_BYTES)
		return DROP_TRUNCATED;
	get_header(data, ret_header);
	return DROP_NONE;
}

enum drop_reason wire_check_body(const uint8_t *data, int need_crc,
				 const struct wire_header *header)
{
	const uint8_t *body = data + HEADER_BYTES;

	if (need_crc && !(header->flags & WIRE_F_CRC))
		return DROP_CRC;
	if ((header->flags & WIRE_F_CRC) &&
	    packet_crc(data, HEADER_BYTES + header->length) != header->crc)
		return DROP_CRC;
	switch (header->type) {
	case WIRE_DATA:
		return check_messages(body, header->length);
	case WIRE_ACK:
		return check_ack(body, header->length);
	default:
		return header->length ? DROP_MALFORMED : DROP_NONE;
	}
}

enum drop_reason wire_check_data(const uint8_t *data, uint16_t length)
{
	return check_messages(data + HEADER_BYTES, length);
}

bool wire_is_datagram(const uint8_t *data, uint16_t length, uint32_t *ret_op)
{
	struct wire_msg msg;

	if (length <= MSG_BYTES)
		return false;
	get_msg(data + HEADER_BYTES, &msg);
	*ret_op = msg.op;
	return msg.kind == WIRE_DATAGRAM && msg.length == length - MSG_BYTES;
}

enum drop_reason wire_decode(const uint8_t *data, uint32_t len, int need_crc,
			     struct wire_header *ret_header)
{
	struct wire_header header;
	enum drop_reason reason = wire_decode_header(data, len, &header);

	if (reason == DROP_NONE)
		reason = wire_check_body(data, need_crc, &header);
	if (reason == DROP_NONE)
		*ret_header = header;
	return reason;
}

uint32_t wire_get_msg(const uint8_t *data, uint32_t cursor, struct wire_msg_view *ret)
{
	const uint8_t *at = data + HEADER_BYTES + cursor;

	get_msg(at, &ret->msg);
	ret->payload = at + MSG_BYTES;
	return skip_msg(cursor, ret->msg.length);
}

int wire_next_msg(const uint8_t *data, const struct wire_header *header, uint32_t *cursor,
		  struct wire_msg_view *ret)
{
	if (*cursor >= header->length)
		return 0;
	*cursor = wire_get_msg(data, *cursor, ret);
	return 1;
}

int wire_get_read(const struct wire_msg_view *view, struct wire_read *ret)
{
	if (view->msg.length < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, view->payload, sizeof(*ret));
	ret->rkey = le64toh(ret->rkey);
	ret->roffset = le64toh(ret->roffset);
	ret->offset = le64toh(ret->offset);
	ret->length = le64toh(ret->length);
	return 0;
}

int wire_get_write(const struct wire_msg_view *view, struct wire_write *ret)
{
	if (view->msg.length < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, view->payload, sizeof(*ret));
	ret->rkey = le64toh(ret->rkey);
	ret->roffset = le64toh(ret->roffset);
	ret->length = le64toh(ret->length);
	ret->source = le64toh(ret->source);
	return 0;
}

int wire_get_refuse(const struct wire_msg_view *view, struct wire_refuse *ret)
{
	if (view->msg.length < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, view->payload, sizeof(*ret));
	ret->error = le32toh(ret->error);
	ret->pad = le32toh(ret->pad);
	return 0;
}

int wire_get_place(const struct wire_msg_view *view, struct wire_place *ret)
{
	if (view->msg.length < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, view->payload, sizeof(*ret));
	ret->offset = le64toh(ret->offset);
	return 0;
}

void wire_get_ack(const uint8_t *data, const struct wire_header *header, struct wire_ack *ret,
		  uint64_t *bitmap)
{
	const uint8_t *words = data + HEADER_BYTES + sizeof(*ret);
	uint32_t i;

	get_ack(data + HEADER_BYTES, ret);
	memset(bitmap, 0, WIRE_WINDOW_MAX / 8);
	memcpy(bitmap, words, ret->n_words * sizeof(*bitmap));
	for (i = 0; i < ret->n_words; i++)
		bitmap[i] = le64toh(bitmap[i]);
}

/*
 * Headers are written word by word: bytes put together in memory first have to settle there before
 * they can be copied as a whole.
 */
static void put_word(uint8_t *at, uint64_t word)
{
	word = htole64(word);
	memcpy(at, &word, sizeof(word));
}

static uint64_t pair(uint32_t first, uint32_t second)
{
	return first | (uint64_t)second << 32;
}

_Static_assert(sizeof(struct wire_words) == HEADER_BYTES, "the words are the whole header");

#define FLAGS_SHIFT 16
#define RAIL_SHIFT 24
#define LENGTH_SHIFT 32
#define SEQ_WORD (offsetof(struct wire_header, seq) / 8)

static inline struct wire_words pack(const struct wire_header *h, uint16_t length)
{
	uint32_t first = h->version | h->type << 8 | h->flags << FLAGS_SHIFT |
			 (uint32_t)h->rail << RAIL_SHIFT;

	return (struct wire_words){{pair(first, length | (uint32_t)h->credit << 16), h->key,
				    pair(h->src, h->dst), pair(h->seq, h->rail_seq),
				    pair(h->ack, h->sack), h->rail_ack}};
}

static inline void put_words(uint8_t *data, const struct wire_words *words)
{
	uint32_t i;

	for (i = 0; i < HEADER_BYTES / 8; i++)
		put_word(data + 8 * i, words->word[i]);
}

void wire_put_header(uint8_t *data, const struct wire_header *header)
{
	struct wire_words words = pack(header, header->length);

	put_words(data, &words);
}

void wire_pack_header(const struct wire_header *header, struct wire_words *ret)
{
	*ret = pack(header, 0);
}

void wire_put_words(uint8_t *data, const struct wire_words *words, uint32_t ahead, uint16_t length,
		    uint8_t flags)
{
	uint64_t first = words->word[0], numbers = words->word[SEQ_WORD];

	_Static_assert(SEQ_WORD == 3 && HEADER_BYTES == 48, "these are all words");
	put_word(data, first | (uint64_t)length << LENGTH_SHIFT | (uint64_t)flags << FLAGS_SHIFT);
	put_word(data + 8, words->word[1]);
	put_word(data + 16, words->word[2]);
	put_word(data + 8 * SEQ_WORD,
		 pair((uint32_t)numbers + ahead, (uint32_t)(numbers >> 32) + ahead));
	put_word(data + 32, words->word[4]);
	put_word(data + 40, words->word[5]);
}

static uint64_t get_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

bool wire_is_like(const uint8_t *data, uint32_t len, const struct wire_words *words,
		  struct wire_numbers *ret)
{
	const uint64_t others = 0xffull << RAIL_SHIFT | 0xffffull << LENGTH_SHIFT;
	uint64_t first, numbers;

	if (len < HEADER_BYTES)
		return false;
	first = get_word(data);
	if (((first ^ words->word[0]) & ~others) || get_word(data + 8) != words->word[1] ||
	    get_word(data + 16) != words->word[2] || get_word(data + 32) != words->word[4] ||
	    (uint32_t)get_word(data + 40) != (uint32_t)words->word[5])
		return false;
	numbers = get_word(data + 8 * SEQ_WORD);
	ret->seq = (uint32_t)numbers;
	ret->rail_seq = (uint32_t)(numbers >> 32);
	ret->rail = (uint8_t)(first >> RAIL_SHIFT);
	ret->length = (uint16_t)(first >> LENGTH_SHIFT);
	return ret->rail < WIRE_RAILS && ret->length <= len - HEADER_BYTES;
}

void wire_put_msg(uint8_t *at, const struct wire_msg *msg)
{
	uint32_t first = msg->length | msg->kind << 16 | (uint32_t)msg->flags << 24;

	put_word(at, pair(first, msg->op));
}

void wire_put_read(uint8_t *at, const struct wire_read *body)
{
	const struct wire_read wire = {.rkey = htole64(body->rkey),
				       .roffset = htole64(body->roffset),
				       .offset = htole64(body->offset),
				       .length = htole64(body->length)};

	memcpy(at, &wire, sizeof(wire));
}

void wire_put_write(uint8_t *at, const struct wire_write *body)
{
	const struct wire_write wire = {.rkey = htole64(body->rkey),
					.roffset = htole64(body->roffset),
					.length = htole64(body->length),
					.source = htole64(body->source)};

	memcpy(at, &wire, sizeof(wire));
}

void wire_put_refuse(uint8_t *at, const struct wire_refuse *body)
{
	const struct wire_refuse wire = {.error = htole32(body->error), .pad = htole32(body->pad)};

	memcpy(at, &wire, sizeof(wire));
}

void wire_put_place(uint8_t *at, const struct wire_place *body)
{
	const struct wire_place wire = {.offset = htole64(body->offset)};

	memcpy(at, &wire, sizeof(wire));
}

void wire_put_ack(uint8_t *at, const struct wire_ack *body, const uint64_t *bitmap)
{
	struct wire_ack wire = {.n_words = htole32(body->n_words), .pad = 0};
	uint64_t word;
	uint32_t i;

	for (i = 0; i < WIRE_RAILS; i++)
		wire.rail_next[i] = htole32(body->rail_next[i]);
	memcpy(at, &wire, sizeof(wire));
	for (i = 0; i < body->n_words; i++) {
		word = htole64(bitmap[i]);
		memcpy(at + sizeof(wire) + i * sizeof(word), &word, sizeof(word));
	}
}

void wire_seal(uint8_t *data, uint32_t len)
{
	uint32_t crc;

	data[offsetof(struct wire_header, flags)] |= WIRE_F_CRC;
	crc = htole32(packet_crc(data, len));
	memcpy(data + offsetof(struct wire_header, crc), &crc, sizeof(crc));
}

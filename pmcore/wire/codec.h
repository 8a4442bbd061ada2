/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec - turns received bytes into checked structures. The only place that trusts nothing: what it
 * accepts may be used without further range checks. Byte order is handled here.
 */
#ifndef PM_WIRE_CODEC_H
#define PM_WIRE_CODEC_H

#include <stdbool.h>

#include "pmcore/util/stats.h"
#include "pmcore/wire/pm_wire.h"

/*
 * First step: checks the header as such (not the key, not the destination) and gives it in host
 * order. DROP_NONE, or the reason to drop the packet: truncated, version, type, rail. Costs the
 * same whatever the length, so a packet that is not for us is found out before its body is looked
 * at.
 */
enum drop_reason wire_decode_header(const uint8_t *data, uint32_t len,
				    struct wire_header *ret_header);
/*
 * Second step, with the header of the first: crc (when flagged, or @need_crc), malformed. Walks the
 * messages of DATA and the bitmap of ACK, so that wire_next_msg can't run out of the packet.
 */
enum drop_reason wire_check_body(const uint8_t *data, int need_crc,
				 const struct wire_header *header);
/* Both steps, for those who have no key to compare; *ret_header is written only with DROP_NONE. */
enum drop_reason wire_decode(const uint8_t *data, uint32_t len, int need_crc,
			     struct wire_header *ret_header);

/* A message of a checked DATA packet, host order. */
struct wire_msg_view {
	struct wire_msg msg;
	const uint8_t *payload;
};
/*
 * Iterates the messages of a checked packet: start with *cursor = 0; 1 and *ret, or 0 at the end.
 */
int wire_next_msg(const uint8_t *data, const struct wire_header *header, uint32_t *cursor,
		  struct wire_msg_view *ret);
/* The same for a cursor before the end of the packet: the cursor behind the message. */
uint32_t wire_get_msg(const uint8_t *data, uint32_t cursor, struct wire_msg_view *ret);
/* Bodies of control messages, host order; 0 or -EBADMSG when shorter than the struct. */
int wire_get_read(const struct wire_msg_view *view, struct wire_read *ret);
int wire_get_write(const struct wire_msg_view *view, struct wire_write *ret);
int wire_get_refuse(const struct wire_msg_view *view, struct wire_refuse *ret);
int wire_get_place(const struct wire_msg_view *view, struct wire_place *ret);
/*
 * ACK body of a checked packet; @bitmap has room for WIRE_WINDOW_MAX / 64 words, missing words are
 * 0.
 */
void wire_get_ack(const uint8_t *data, const struct wire_header *header, struct wire_ack *ret,
		  uint64_t *bitmap);

/* Write in wire order. wire_put_header leaves crc 0; wire_seal adds the CRC. */
void wire_put_header(uint8_t *data, const struct wire_header *header);
/*
 * The same for packets in a row, whose headers differ by little. It gives the words of the first
 * one in host order, its length taken as 0. It also gives the header of the packet @ahead of it,
 * with as much higher numbers, @length, and @flags beside those of the first.
 */
struct wire_words {
	uint64_t word[6];
};
void wire_pack_header(const struct wire_header *header, struct wire_words *ret);
void wire_put_words(uint8_t *data, const struct wire_words *words, uint32_t ahead, uint16_t length,
		    uint8_t flags);
/*
 * Both steps for packets in a row without a CRC. Is the header that of @words, which was decoded
 * before, but for its rail, length, seq and rail_seq? These are given in host order, and are as
 * wire_decode_header wants them. Then the body of DATA of that length, as wire_check_body.
 */
struct wire_numbers {
	uint32_t seq, rail_seq;
	uint16_t length;
	uint8_t rail;
};
bool wire_is_like(const uint8_t *data, uint32_t len, const struct wire_words *words,
		  struct wire_numbers *ret);
enum drop_reason wire_check_data(const uint8_t *data, uint16_t length);
/* Is such a body one datagram, as wire_check_data wants it? Then its op. */
bool wire_is_datagram(const uint8_t *data, uint16_t length, uint32_t *ret_op);
void wire_put_msg(uint8_t *at, const struct wire_msg *msg);
void wire_put_read(uint8_t *at, const struct wire_read *body);
void wire_put_write(uint8_t *at, const struct wire_write *body);
void wire_put_refuse(uint8_t *at, const struct wire_refuse *body);
void wire_put_place(uint8_t *at, const struct wire_place *body);
void wire_put_ack(uint8_t *at, const struct wire_ack *body, const uint64_t *bitmap);
void wire_seal(uint8_t *data, uint32_t len);

#endif

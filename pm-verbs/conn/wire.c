// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/conn/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "pm_device.h"
#include "pmcore/util/siphash.h"

#define MAGIC 0x32564d50u       /* "PMV2" */
#define TOKEN_LABEL 0x54564d50u /* "PMVT" */
#define TOKEN_AT 4              /* in the header */
#define ERROR_MAX 4095          /* of an errno */
#define CONTROL_BYTES 40        /* of a GRANT, which is the longest */
#define LANE_BYTES 16
#define NUMBER_MAX 0xffffffu /* of a queue pair or packet */

/* Bytes on the wire. */
struct control_wire {
	uint64_t rkey;
	uint32_t op, error; /* in ASK: lane */
	uint64_t addr, len;
	uint32_t key;
	uint16_t is_writable, lane;
};
_Static_assert(sizeof(struct control_wire) == CONTROL_BYTES, "GRANT has 40 bytes");

struct lane_wire {
	uint32_t lane, qp, psn, yours;
};
_Static_assert(sizeof(struct lane_wire) == LANE_BYTES, "LANE has 16 bytes");

struct greeting_wire {
	uint32_t magic, flags, from, to, epoch, qp, psn, credits;
	uint64_t life, heard, received, tag;
};
_Static_assert(sizeof(struct greeting_wire) == PMV_GREETING_BYTES, "greeting has 64 bytes");

void pmv_header_put(uint8_t *p, const struct pmv_header *header)
{
	const uint32_t token = htole32(header->token);

	p[0] = header->kind;
	p[1] = 0;
	p[2] = (uint8_t)header->credits;
	p[3] = (uint8_t)(header->credits >> 8);
	memcpy(p + TOKEN_AT, &token, sizeof(token));
}

int pmv_header_get(const uint8_t *p, size_t len, uint32_t token, struct pmv_header *ret)
{
	uint32_t theirs;

	if (len < PMV_HEADER)
		return -EBADMSG;
	memcpy(&theirs, p + TOKEN_AT, sizeof(theirs));
	if (le32toh(theirs) != token)
		return -EBADMSG;
	if (p[0] < PMV_MESSAGE || p[0] > PMV_CARRIED || p[1] ||
	    (pmv_is_handed_up(p[0]) ? len == PMV_HEADER : len != pmv_control_size(p[0])))
		return -EINVAL;
	ret->kind = p[0];
	ret->credits = (uint16_t)(p[2] | p[3] << 8);
	ret->token = token;
	return 0;
}

uint32_t pmv_token(uint64_t job_key, const struct pmv_direction *d)
{
	/* greetings begin with another word, and Q_Keys are made of one word alone */
	const uint32_t words[] = {htole32(TOKEN_LABEL), htole32(d->epoch), htole32(d->from_qp),
				  htole32(d->from_psn), htole32(d->to_qp), htole32(d->to_psn)};

	return (uint32_t)siphash(job_key, ~job_key, words, sizeof(words));
}

size_t pmv_control_size(uint8_t kind)
{
	switch (kind) {
	case PMV_ASK:
		return PMV_HEADER + 16;
	case PMV_GRANT:
		return PMV_HEADER + CONTROL_BYTES;
	case PMV_REVOKE:
		return PMV_HEADER + 8;
	case PMV_LANE:
		return PMV_HEADER + LANE_BYTES;
	default:
		return PMV_HEADER;
	}
}

static void put_lane(uint8_t *p, const struct pmv_control *control)
{
	const struct lane_wire w = {
		.lane = htole32(control->lane),
		.qp = htole32(control->qp),
		.psn = htole32(control->psn),
		.yours = htole32(control->yours),
	};

	memcpy(p, &w, sizeof(w));
}

static int get_lane(const uint8_t *p, struct pmv_control *ret)
{
	struct lane_wire w;

	memcpy(&w, p, sizeof(w));
	if (!w.lane || le32toh(w.lane) > PM_RAILS_MAX || le32toh(w.qp) > NUMBER_MAX ||
	    le32toh(w.psn) > NUMBER_MAX || le32toh(w.yours) > NUMBER_MAX || (!w.qp && w.yours))
		return -EINVAL;
	*ret = (struct pmv_control){
		.lane = le32toh(w.lane),
		.qp = le32toh(w.qp),
		.psn = le32toh(w.psn),
		.yours = le32toh(w.yours),
	};
	return 0;
}

void pmv_control_put(uint8_t *p, uint8_t kind, const struct pmv_control *control)
{
	const struct control_wire w = {
		.rkey = htole64(control->rkey),
		.op = htole32(control->op),
		.error = htole32(kind == PMV_ASK ? control->lane : control->error),
		.addr = htole64(control->addr),
		.len = htole64(control->len),
		.key = htole32(control->key),
		.is_writable = htole16(control->is_writable),
		.lane = htole16((uint16_t)control->lane),
	};

	if (kind == PMV_LANE) {
		put_lane(p, control);
		return;
	}
	memcpy(p, &w, pmv_control_size(kind) - PMV_HEADER);
}

int pmv_control_get(const uint8_t *p, size_t len, uint8_t kind, struct pmv_control *ret)
{
	struct control_wire w = {0};
	uint32_t lane;

	if (len != pmv_control_size(kind))
		return -EINVAL;
	if (kind == PMV_LANE)
		return get_lane(p + PMV_HEADER, ret);
	memcpy(&w, p + PMV_HEADER, len - PMV_HEADER);
	if (kind == PMV_ASK) {
		lane = le32toh(w.error);
		w.error = 0;
	} else {
		lane = le16toh(w.lane);
	}
	if (lane > PM_RAILS_MAX || le32toh(w.error) > ERROR_MAX || le16toh(w.is_writable) > 1 ||
	    le64toh(w.len) > UINT64_MAX - le64toh(w.addr))
		return -EINVAL;
	*ret = (struct pmv_control){
		.rkey = le64toh(w.rkey),
		.op = le32toh(w.op),
		.error = le32toh(w.error),
		.addr = le64toh(w.addr),
		.len = le64toh(w.len),
		.key = le32toh(w.key),
		.is_writable = w.is_writable != 0,
		.lane = lane,
	};
	return 0;
}

static uint64_t tag_of(const struct greeting_wire *w, uint64_t job_key)
{
	/* the job's key is half a key; the other half is made of it */
	return htole64(siphash(job_key, ~job_key, w, offsetof(struct greeting_wire, tag)));
}

void pmv_greeting_put(uint8_t *p, const struct pmv_greeting *greeting, uint64_t job_key)
{
	struct greeting_wire w = {
		.magic = htole32(MAGIC),
		.flags = htole32(greeting->flags),
		.from = htole32(greeting->from),
		.to = htole32(greeting->to),
		.epoch = htole32(greeting->epoch),
		.qp = htole32(greeting->qp),
		.psn = htole32(greeting->psn),
		.credits = htole32(greeting->credits),
		.life = htole64(greeting->life),
		.heard = htole64(greeting->heard),
		.received = htole64(greeting->received),
	};

	w.tag = tag_of(&w, job_key);
	memcpy(p, &w, sizeof(w));
}

static bool is_sound(const struct pmv_greeting *g)
{
	if (!g->epoch || !g->life || g->qp > 0xffffff || g->psn > 0xffffff || g->credits > 0xffff)
		return false;
	if (g->flags == PMV_WAIT ? g->qp || g->credits
				 : g->flags > (PMV_HAVE_YOURS | PMV_READY_HERE | PMV_GOODBYE))
		return false;
	return g->heard || (!(g->flags & (PMV_HAVE_YOURS | PMV_READY_HERE)) && !g->received);
}

int pmv_greeting_get(const uint8_t *p, size_t len, uint64_t job_key, struct pmv_greeting *ret)
{
	struct greeting_wire w;

	if (len != sizeof(w))
		return -EINVAL;
	memcpy(&w, p, sizeof(w));
	if (le32toh(w.magic) != MAGIC || w.tag != tag_of(&w, job_key))
		return -EINVAL;
	*ret = (struct pmv_greeting){
		.flags = le32toh(w.flags),
		.from = le32toh(w.from),
		.to = le32toh(w.to),
		.epoch = le32toh(w.epoch),
		.life = le64toh(w.life),
		.heard = le64toh(w.heard),
		.qp = le32toh(w.qp),
		.psn = le32toh(w.psn),
		.credits = le32toh(w.credits),
		.received = le64toh(w.received),
	};
	return is_sound(ret) ? 0 : -EINVAL;
}

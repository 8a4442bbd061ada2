/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire - every byte that two links of this kind send to each other, little-endian. Received
 * messages are checked here: a function per message, which gives -EINVAL for bytes that no link of
 * ours sends.
 *
 * Over a connection: u8 kind, u8 zero, u16 credits returned, u32 token, and then
 *   MESSAGE          a datagram of the user, at least one byte
 *   CREDIT           nothing: it is there for the credits
 *   ASK              u64 rkey, u32 operation, u32 lane: what is the region's address and key?
 *   GRANT            u64 rkey, u32 operation, u32 error, u64 address, u64 length, u32 key, u16 writable, u16 lane
 *   REVOKE           u64 rkey: the region is gone, forget its key
 *   CLOSE            nothing: this is the last message over this connection
 *   LANE             u32 lane, u32 queue pair, u32 packet number, u32 yours: my end of a further queue pair
 *   CARRIED          bytes that the sender's libpm has for ours, at least one, in order with MESSAGE
 *
 * A lane is named by its pair of rails, from 1; 0 is the connection's own queue pair.
 *
 * The token is made of the job's key for one direction of one connection. RoCE packets prove
 * nothing of their sender: each user of the peer's host can send some by UDP, and read the numbers
 * that they need. Without the job's key he can't tell the token.
 *
 * By datagram, a greeting (wireup.c): GREETING_BYTES with a SipHash tag of the job's key. It may
 * come late, twice or not at all, so it says which record of the sender it is from and which of the
 * receiver's it is for. A sender that has heard of no record of the receiver has received nothing
 * and is connected to nothing.
 */
#ifndef PM_VERBS_CONN_WIRE_H
#define PM_VERBS_CONN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMV_HEADER 8
#define PMV_CONTROL_MAX (PMV_HEADER + 40)
#define PMV_GREETING_BYTES 64

enum pmv_kind {
	PMV_MESSAGE = 1,
	PMV_CREDIT,
	PMV_ASK,
	PMV_GRANT,
	PMV_REVOKE,
	PMV_CLOSE,
	PMV_LANE,
	PMV_CARRIED,
};

/* One that is handed up, and sent again by the next connection if it did not arrive by this one. */
static inline bool pmv_is_handed_up(uint8_t kind)
{
	return kind == PMV_MESSAGE || kind == PMV_CARRIED;
}

struct pmv_header {
	uint8_t kind;     /* enum pmv_kind */
	uint16_t credits; /* receives that were posted again */
	uint32_t token;
};

void pmv_header_put(uint8_t *p, const struct pmv_header *header);
/*
 * @len: of the whole message, whose token must be @token. -EBADMSG: it is another, so the peer has
 * not sent this; -EINVAL.
 */
int pmv_header_get(const uint8_t *p, size_t len, uint32_t token, struct pmv_header *ret);

/* One direction of a connection: numbers of the queue pairs, and of their first packets. */
struct pmv_direction {
	uint32_t epoch;
	uint32_t from_qp, from_psn;
	uint32_t to_qp, to_psn;
};
uint32_t pmv_token(uint64_t job_key, const struct pmv_direction *direction);

/* ASK, GRANT, REVOKE and LANE; each has some of the fields. */
struct pmv_control {
	uint64_t rkey;  /* of pmMLock */
	uint32_t op;    /* the asker's name of its operation */
	uint32_t error; /* errno of a refusal, 0 = granted */
	uint64_t addr;  /* of the region in its owner's memory */
	uint64_t len;   /* bytes */
	uint32_t key;   /* verbs rkey of all of it */
	bool is_writable;
	uint32_t lane;  /* 0 = the connection's own queue pair, else 1 + its pair of rails */
	uint32_t qp;    /* number of the sender's end, 0 = it has none and makes none */
	uint32_t psn;   /* its first packet number */
	uint32_t yours; /* the end that it is connected to, 0 = not yet */
};

/* Bytes of a message of @kind, its header included. */
size_t pmv_control_size(uint8_t kind);
/* Writes what follows the header. */
void pmv_control_put(uint8_t *p, uint8_t kind, const struct pmv_control *control);
/* @len: of the whole message, whose header was taken. */
int pmv_control_get(const uint8_t *p, size_t len, uint8_t kind, struct pmv_control *ret);

enum pmv_greeting_flag {
	PMV_HAVE_YOURS = 1, /* my queue pair is connected to the one you greeted with */
	PMV_READY_HERE = 2, /* I know that yours is, too: needs no answer */
	PMV_GOODBYE = 4,    /* this context is closed, or has removed you */
	PMV_WAIT = 8,       /* I have no room for this connection yet, and no queue pair to tell */
};

/* A greeting: one side's end of the connection with number epoch. */
struct pmv_greeting {
	uint32_t flags;    /* enum pmv_greeting_flag */
	uint32_t from, to; /* nodes */
	uint32_t epoch;    /* number of the connection between the two, from 1 */
	uint64_t life; /* of the sender's record of the receiver: a higher number, a newer record */
	uint64_t heard;    /* life of the receiver's record of the sender; 0 = not heard yet */
	uint32_t qp;       /* number of the sender's queue pair */
	uint32_t psn;      /* its first packet number */
	uint32_t credits;  /* receives posted to it */
	uint64_t received; /* messages that arrived over all connections before */
};

void pmv_greeting_put(uint8_t *p, const struct pmv_greeting *greeting, uint64_t job_key);
int pmv_greeting_get(const uint8_t *p, size_t len, uint64_t job_key, struct pmv_greeting *ret);

#endif

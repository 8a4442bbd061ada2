/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire - what goes over a connection of a stream, little-endian. The one who reads connects:
 *
 *   greeting ->   magic 4, from 4, to 4, zero 4, nonce 8
 *   <- answer     nonce 8, tag 8
 *   proof ->      tag 8
 *   requests ->   rkey 8, offset 8, length 7, how 1, gap 2, zero 38; length 0 is a sign of life
 *   <- data       of the requests, in their order, before each one as many bytes without a meaning as its gap
 *
 * Each side proves by its tag, a hash of both nonces, that it has the key of the job, which never
 * goes over the wire. An owner that can't serve a request closes the connection. Pure.
 *
 * The gap is there because the kernel puts all that a process sends into the same pages, one behind
 * the other. When all data of a page have been read, it fills the page from its beginning again.
 * Data without a gap would lie there, or behind one short request, as they lie in the memory of
 * most programs. Some processors copy such data at a tenth of their speed (util/copy.h). A request
 * has 64 bytes for the same reason: behind one of 24 data would lie 24 bytes further.
 */
#ifndef PM_UDP_STREAM_WIRE_H
#define PM_UDP_STREAM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define PMT_GREETING 24
#define PMT_ANSWER 16
#define PMT_PROOF 8
#define PMT_REQUEST 64
#define PMT_GAP_MAX 4096

struct pmt_greeting {
	uint32_t from, to; /* nodes */
	uint64_t nonce;
};

struct pmt_answer {
	uint64_t nonce, tag;
};

/* The owner gives its kernel a copy of the data, or the pages that they lie in. */
enum pmt_how { PMT_COPIED, PMT_LENT };

#define PMT_LENGTH_MAX ((1ull << 56) - 1)

struct pmt_request {
	uint64_t rkey, offset, length; /* bytes; length up to PMT_LENGTH_MAX */
	enum pmt_how how;
	uint16_t gap; /* bytes before the data, up to PMT_GAP_MAX; 0 if there are none, or lent */
};

enum pmt_side { PMT_OWNER = 1, PMT_READER };

void pmt_greeting_put(uint8_t at[PMT_GREETING], const struct pmt_greeting *greeting);
/* -EINVAL: no greeting. */
int pmt_greeting_get(const uint8_t at[PMT_GREETING], struct pmt_greeting *ret);
void pmt_answer_put(uint8_t at[PMT_ANSWER], const struct pmt_answer *answer);
void pmt_answer_get(const uint8_t at[PMT_ANSWER], struct pmt_answer *ret);
void pmt_proof_put(uint8_t at[PMT_PROOF], uint64_t tag);
uint64_t pmt_proof_get(const uint8_t at[PMT_PROOF]);
void pmt_request_put(uint8_t at[PMT_REQUEST], const struct pmt_request *request);
/* -EINVAL: the range has no end, nobody knows how, the gap is too long, or the rest is not zero. */
int pmt_request_get(const uint8_t at[PMT_REQUEST], struct pmt_request *ret);

/* The tag that @side shows for this greeting and the owner's nonce. */
uint64_t pmt_tag(uint64_t job_key, enum pmt_side side, const struct pmt_greeting *greeting,
		 uint64_t nonce);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "pm-udp/stream/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "pmcore/util/siphash.h"

#define MAGIC 0x33544d50u /* "PMT3" */
#define HOW_SHIFT 56      /* over PMT_LENGTH_MAX */
#define REQUEST_USED 32   /* the rest of a request is zero */

static void put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

void pmt_greeting_put(uint8_t at[PMT_GREETING], const struct pmt_greeting *greeting)
{
	put32(at, MAGIC);
	put32(at + 4, greeting->from);
	put32(at + 8, greeting->to);
	put32(at + 12, 0);
	put64(at + 16, greeting->nonce);
}

int pmt_greeting_get(const uint8_t at[PMT_GREETING], struct pmt_greeting *ret)
{
	if (get32(at) != MAGIC || get32(at + 12))
		return -EINVAL;
	*ret = (struct pmt_greeting){get32(at + 4), get32(at + 8), get64(at + 16)};
	return 0;
}

void pmt_answer_put(uint8_t at[PMT_ANSWER], const struct pmt_answer *answer)
{
	put64(at, answer->nonce);
	put64(at + 8, answer->tag);
}

void pmt_answer_get(const uint8_t at[PMT_ANSWER], struct pmt_answer *ret)
{
	*ret = (struct pmt_answer){get64(at), get64(at + 8)};
}

void pmt_proof_put(uint8_t at[PMT_PROOF], uint64_t tag)
{
	put64(at, tag);
}

uint64_t pmt_proof_get(const uint8_t at[PMT_PROOF])
{
	return get64(at);
}

void pmt_request_put(uint8_t at[PMT_REQUEST], const struct pmt_request *request)
{
	put64(at, request->rkey);
	put64(at + 8, request->offset);
	put64(at + 16, request->length | (uint64_t)request->how << HOW_SHIFT);
	put64(at + 24, request->gap);
	memset(at + REQUEST_USED, 0, PMT_REQUEST - REQUEST_USED);
}

int pmt_request_get(const uint8_t at[PMT_REQUEST], struct pmt_request *ret)
{
	uint64_t last = get64(at + 16), length = last & PMT_LENGTH_MAX, how = last >> HOW_SHIFT;
	uint64_t gap = get64(at + 24);
	struct pmt_request r = {get64(at), get64(at + 8), length, (enum pmt_how)how, (uint16_t)gap};

	if (length > UINT64_MAX - r.offset || how > PMT_LENT ||
	    gap > (length && how == PMT_COPIED ? PMT_GAP_MAX : 0))
		return -EINVAL;
	for (size_t i = REQUEST_USED; i < PMT_REQUEST; i += 8)
		if (get64(at + i))
			return -EINVAL;
	*ret = r;
	return 0;
}

uint64_t pmt_tag(uint64_t job_key, enum pmt_side side, const struct pmt_greeting *greeting,
		 uint64_t nonce)
{
	uint8_t text[1 + PMT_GREETING + 8];

	text[0] = (uint8_t)side;
	pmt_greeting_put(text + 1, greeting);
	put64(text + 1 + PMT_GREETING, nonce);
	/* the job's key is half a key; the other half is made of it */
	return siphash(job_key, ~job_key, text, sizeof(text));
}

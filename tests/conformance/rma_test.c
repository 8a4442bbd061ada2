// SPDX-License-Identifier: BSD-3-Clause
/* One-sided reads and writes on every device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/conformance/variant.h"

#define REGION (3 * 1024 * 1024 + 17)

/* Waits for an operation of member @who while all members make progress. */
static int finish(struct crew *crew, unsigned int who, pmDesc desc, int (*done)(pmContext, pmDesc))
{
	int err = ENOBUFS;

	for (long i = 0; i < 20000000 && err == ENOBUFS; i++) {
		err = done(crew->ctx[who], desc);
		crew_turn(crew);
	}
	return err;
}

static int start_read(struct crew *crew, unsigned int who, unsigned int owner, const pmHandle *h,
		      uint64_t offset, void *local, size_t len, pmDesc *desc)
{
	int err;

	while ((err = pmRead(crew->ctx[who], crew_node(crew, owner), h, offset, local, len,
			     desc)) == ENOBUFS)
		crew_turn(crew);
	return err;
}

CONFORMS(pmRead__sizes_and_offsets)
{
	static const size_t sizes[] = {1,    7,     8,     100,     1399,   1400,
				       4096, 65536, 65537, 1 << 20, 3000000};
	uint8_t *region = malloc(REGION), *local = malloc(REGION + 1);
	pmHandle h;
	pmDesc desc;

	crew_fill(region, REGION, 1, 99);
	must(pmMLock(crew->ctx[1], region, REGION, &h) == PM_SUCCESS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i], offset = (i * 7919) % (REGION - len + 1);

		memset(local, 0xee, REGION + 1);
		must(start_read(crew, 0, 1, &h, offset, local, len, &desc) == PM_SUCCESS);
		is_int(finish(crew, 0, desc, pmIsReadDone), PM_SUCCESS);
		okf(!memcmp(local, region + offset, len), "%zu bytes at %zu", len, offset);
		is_int(local[len], 0xee);
		is_int(pmIsReadDone(crew->ctx[0], desc), EBADF);
	}
	is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
	is_int(pmMUnlock(crew->ctx[1], &h), ENOENT);
	free(region);
	free(local);
	(void)variant;
}

CONFORMS(pmWrite__sizes_and_offsets)
{
	static const size_t sizes[] = {1, 9, 1400, 5000, 65536, 200001, 1 << 20};
	uint8_t *region = calloc(1, REGION), *local = malloc(REGION);
	pmHandle h;
	pmDesc desc;

	crew_fill(local, REGION, 0, 5);
	for (unsigned int owner = 0; owner < 3; owner++) {
		must(pmMLock(crew->ctx[owner], region, REGION, &h) == PM_SUCCESS);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t len = sizes[i], offset = (i * 104729) % (REGION - len);
			int err;

			memset(region, 0, REGION);
			while ((err = pmWrite(crew->ctx[0], crew_node(crew, owner), &h, offset,
					      local, len, &desc)) == ENOBUFS)
				crew_turn(crew);
			must(err == PM_SUCCESS);
			is_int(finish(crew, 0, desc, pmIsWriteDone), PM_SUCCESS);
			okf(!memcmp(region + offset, local, len), "%zu bytes at %zu", len, offset);
			okf(region[offset + len] == 0 && (!offset || region[offset - 1] == 0),
			    "written outside");
		}
		is_int(pmMUnlock(crew->ctx[owner], &h), PM_SUCCESS);
	}
	free(region);
	free(local);
	(void)variant;
}

/*
 * Memory that was given back and is there again at the same address: what a device knew of it is
 * worth nothing.
 */
CONFORMS(pmWrite__memory_mapped_anew)
{
	enum { LEN = 200000 };
	uint8_t *region = malloc(LEN), *local = NULL;
	pmHandle h;
	pmDesc desc;

	must(pmMLock(crew->ctx[1], region, LEN, &h) == PM_SUCCESS);
	for (unsigned int i = 0; i < 5; i++) {
		void *at = mmap(local, LEN, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | (local ? MAP_FIXED : 0), -1, 0);
		int err;

		must(at != MAP_FAILED);
		local = at;
		crew_fill(local, LEN, 0, i);
		while ((err = pmWrite(crew->ctx[0], crew_node(crew, 1), &h, 0, local, LEN,
				      &desc)) == ENOBUFS)
			crew_turn(crew);
		must(err == PM_SUCCESS);
		is_int(finish(crew, 0, desc, pmIsWriteDone), PM_SUCCESS);
		okf(!memcmp(region, local, LEN), "written for the %uth time", i);
		crew_fill(region, LEN, 1, i);
		must(start_read(crew, 0, 1, &h, 0, local, LEN, &desc) == PM_SUCCESS);
		is_int(finish(crew, 0, desc, pmIsReadDone), PM_SUCCESS);
		okf(!memcmp(region, local, LEN), "read for the %uth time", i);
		if (i & 1)
			munmap(local, LEN);
	}
	is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
	munmap(local, LEN);
	free(region);
	(void)variant;
}

/* Many reads in both directions while messages go on in order. */
CONFORMS(pmRead__many_with_messages_between)
{
	enum { OPS = 24, LEN = 150001 };
	uint8_t *region[2], *local[2];
	pmHandle h[2];
	pmDesc desc[2][OPS];

	for (unsigned int m = 0; m < 2; m++) {
		region[m] = malloc(LEN);
		local[m] = malloc((size_t)OPS * LEN);
		crew_fill(region[m], LEN, m, 3);
		must(pmMLock(crew->ctx[m], region[m], LEN, &h[m]) == PM_SUCCESS);
	}
	for (int i = 0; i < OPS; i++)
		for (unsigned int m = 0; m < 2; m++) {
			must(start_read(crew, m, 1 - m, &h[1 - m], 0, local[m] + (size_t)i * LEN,
					LEN, &desc[m][i]) == PM_SUCCESS);
			must(crew_send_hard(crew, m, 1 - m, 1 + (size_t)i * 11));
		}
	for (int i = OPS - 1; i >= 0; i--)
		for (unsigned int m = 0; m < 2; m++) {
			is_int(finish(crew, m, desc[m][i], pmIsReadDone), PM_SUCCESS);
			okf(!memcmp(local[m] + (size_t)i * LEN, region[1 - m], LEN),
			    "read %d of %u", i, m);
		}
	crew_drain(crew);
	for (unsigned int m = 0; m < 2; m++) {
		is_int(pmMUnlock(crew->ctx[m], &h[m]), PM_SUCCESS);
		free(region[m]);
		free(local[m]);
	}
	(void)variant;
}

CONFORMS(pmRead__refused_when_not_exported)
{
	uint8_t region[4096], local[4096];
	pmHandle h, old;
	pmDesc desc;

	memset(region, 1, sizeof(region));
	must(pmMLock(crew->ctx[1], region, sizeof(region), &old) == PM_SUCCESS);
	must(pmMUnlock(crew->ctx[1], &old) == PM_SUCCESS);
	must(pmMLock(crew->ctx[1], region, sizeof(region), &h) == PM_SUCCESS);
	must(start_read(crew, 0, 1, &old, 0, local, 100, &desc) == PM_SUCCESS);
	is_int(finish(crew, 0, desc, pmIsReadDone), EACCES);
	is_int(pmRead(crew->ctx[0], crew_node(crew, 1), &h, 4000, local, 97, &desc), EINVAL);
	is_int(pmRead(crew->ctx[0], crew_node(crew, 2), &h, 0, local, 10, &desc), EINVAL);
	is_int(pmRead(crew->ctx[0], crew_node(crew, 1), &h, ~0ull, local, 10, &desc), EINVAL);
	is_int(pmRead(crew->ctx[0], crew_node(crew, 1), &h, 0, NULL, 10, &desc), EINVAL);
	h.word[0]++;
	is_int(pmRead(crew->ctx[0], crew_node(crew, 1), &h, 0, local, 10, &desc), EINVAL);
	(void)variant;
}

/*
 * Unlocking in the middle of a transfer ends it, one way or the other, and touches the memory no
 * more.
 */
CONFORMS(pmMUnlock__in_mid_transfer)
{
	for (int round = 0; round < 10; round++) {
		uint8_t *region = malloc(REGION), *local = malloc(REGION);
		pmHandle h;
		pmDesc desc;
		int err;

		crew_fill(region, REGION, 1, (uint64_t)round);
		must(pmMLock(crew->ctx[1], region, REGION, &h) == PM_SUCCESS);
		must(start_read(crew, 0, 1, &h, 0, local, REGION, &desc) == PM_SUCCESS);
		for (int i = 0; i < round; i++)
			crew_turn(crew);
		is_int(pmMUnlock(crew->ctx[1], &h), PM_SUCCESS);
		memset(region, 0, REGION);
		free(region);
		err = finish(crew, 0, desc, pmIsReadDone);
		okf(err == EACCES || err == PM_SUCCESS, "ends with %s", pmErrorString(err));
		free(local);
	}
	must(crew_send_hard(crew, 0, 1, 8) && crew_send_hard(crew, 1, 0, 8));
	crew_drain(crew);
	(void)variant;
}

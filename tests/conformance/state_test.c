// SPDX-License-Identifier: BSD-3-Clause
/* Quiescing, saving and restoring a whole job: what gang switching and checkpoint stand on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/variant.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/*
 * Stops all members together, as a scheduler does: each in turn, a little at a time. Lost packets
 * take time to be sent again.
 */
static bool quiesce_all(const struct variant *variant, struct crew *crew)
{
	double end = seconds() + (variant->is_faulted ? 20 : 0);

	for (int tries = 0; tries < 20000 || seconds() < end; tries++) {
		unsigned int quiet = 0;

		for (unsigned int i = 0; i < crew->n; i++)
			quiet += pmQuiesce(crew->ctx[i], 0) == PM_SUCCESS;
		if (quiet == crew->n)
			return true;
	}
	return okf(false, "not quiet: %s", pmLastError());
}

static void resume_all(struct crew *crew)
{
	for (unsigned int i = 0; i < crew->n; i++)
		is_int(pmResume(crew->ctx[i]), PM_SUCCESS);
}

static void send_some(struct crew *crew, int count)
{
	uint64_t rng = tap_seed();

	for (int i = 0; i < count; i++) {
		unsigned int from = tap_rand(&rng) % crew->n, to = tap_rand(&rng) % crew->n;

		/* no room is fine: receivers take nothing here, so that messages stay unread */
		crew_send(crew, from, to, 1 + tap_rand(&rng) % 700);
	}
}

CONFORMS(pmQuiesce__in_traffic_then_resume)
{
	pmDesc desc;
	void *buf;

	for (int round = 0; round < 5; round++) {
		send_some(crew, 200);
		must(quiesce_all(variant, crew));
		is_int(pmGetSendBuffer(crew->ctx[0], crew_node(crew, 1), 8, &buf, &desc), ENOBUFS);
		resume_all(crew);
		must(crew_drain(crew));
	}
	(void)variant;
}

/* The others are quiet when what they read from it has come, of which it has to do its part. */
CONFORMS(pmQuiesce__serves_others_while_quiet)
{
	const size_t len = 1 << 20;
	uint8_t *region = malloc(len), *local[3] = {NULL, malloc(len), malloc(len)};
	pmHandle handle;
	pmDesc desc[3];

	crew_fill(region, len, 0, 7);
	must(pmMLock(crew->ctx[0], region, len, &handle) == PM_SUCCESS);
	must(quiesce_all(variant, crew));
	for (unsigned int i = 1; i < 3; i++) {
		is_int(pmResume(crew->ctx[i]), PM_SUCCESS);
		must(is_int(pmRead(crew->ctx[i], crew_node(crew, 0), &handle, 0, local[i], len,
				   &desc[i]),
			    PM_SUCCESS));
	}
	must(quiesce_all(variant, crew));
	for (unsigned int i = 1; i < 3; i++) {
		is_int(pmIsReadDone(crew->ctx[i], desc[i]), PM_SUCCESS);
		ok(!memcmp(local[i], region, len));
		free(local[i]);
	}
	free(region);
}

CONFORMS(pmSaveContext__busy_and_too_small)
{
	uint8_t small[8];
	size_t need = 0;
	pmDesc desc;
	void *buf;

	send_some(crew, 20);
	is_int(pmSaveContext(crew->ctx[0], small, sizeof(small), &need), EBUSY);
	must(pmGetSendBuffer(crew->ctx[0], crew_node(crew, 1), 8, &buf, &desc) == PM_SUCCESS);
	is_int(pmDiscardSendBuffer(crew->ctx[0], desc), PM_SUCCESS);
	must(quiesce_all(variant, crew));
	is_int(pmSaveContext(crew->ctx[0], small, sizeof(small), &need), ENOSPC);
	ok(need > sizeof(small));
	resume_all(crew);
	crew_drain(crew);
	(void)variant;
}

CONFORMS(pmRestoreContext__whole_job_with_unread_messages)
{
	uint8_t *saved[3];
	size_t len[3];

	send_some(crew, 300);
	must(quiesce_all(variant, crew));
	for (unsigned int i = 0; i < 3; i++) {
		is_int(pmSaveContext(crew->ctx[i], NULL, 0, &len[i]), ENOSPC);
		saved[i] = malloc(len[i]);
		is_int(pmSaveContext(crew->ctx[i], saved[i], len[i], &len[i]), PM_SUCCESS);
	}
	for (unsigned int i = 0; i < 3; i++) {
		is_int(pmCloseContext(crew->ctx[i]), PM_SUCCESS);
		crew->ctx[i] = PM_CONTEXT_NONE;
	}
	for (unsigned int i = 0; i < 3; i++)
		must(crew_reopen(crew, i, variant->configs[i]));
	for (unsigned int i = 0; i < 3; i++) {
		if (!is_int(pmRestoreContext(crew->ctx[i], saved[i], len[i]), PM_SUCCESS))
			tap_diag("%s", pmLastError());
		free(saved[i]);
	}
	must(crew_drain(crew));
	send_some(crew, 300);
	crew_drain(crew);
}

CONFORMS(pmRestoreContext__damaged_state)
{
	uint64_t rng = tap_seed();
	uint8_t *saved, *bad;
	size_t len = 0;

	send_some(crew, 60);
	must(quiesce_all(variant, crew));
	pmSaveContext(crew->ctx[0], NULL, 0, &len);
	saved = malloc(len);
	bad = malloc(len);
	must(pmSaveContext(crew->ctx[0], saved, len, &len) == PM_SUCCESS);
	is_int(pmCloseContext(crew->ctx[0]), PM_SUCCESS);
	crew->ctx[0] = PM_CONTEXT_NONE;
	is_int(pmRestoreContext(crew->ctx[1], saved, len), EINVAL);
	for (int i = 0; i < 60; i++) {
		pmContext fresh;
		struct pmOptions options = {
			.size = sizeof(options),
			.job_key = crew->key,
			.self = crew_node(crew, 0),
			.config = variant->configs[0],
		};
		size_t cut = i % 3 ? len : tap_rand(&rng) % len;

		memcpy(bad, saved, len);
		if (i % 3)
			bad[tap_rand(&rng) % (i % 2 ? len : 64)] ^=
				(uint8_t)(1 + tap_rand(&rng) % 255);
		must(pmOpenContext(&options, &fresh) == PM_SUCCESS);
		/*
		 * refused or taken (a flipped payload byte can't be noticed here), but never a
		 * crash
		 */
		if (cut < len)
			ok(pmRestoreContext(fresh, bad, cut) != PM_SUCCESS);
		else
			pmRestoreContext(fresh, bad, cut);
		is_int(pmCloseContext(fresh), PM_SUCCESS);
	}
	free(saved);
	free(bad);
}

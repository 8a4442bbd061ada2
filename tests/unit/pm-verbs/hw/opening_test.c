// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/opening.h"

#include "tests/harness/tap.h"

/* One with the highest bit is for root, and stands for another one in a request. */
TAP_TEST(pmv_q_key__of_job_and_purpose)
{
	uint32_t seen = 0;

	for (uint64_t job = 0; job < 200; job++) {
		uint32_t greetings = pmv_q_key(job, PMV_GREETINGS);
		uint32_t packets = pmv_q_key(job, PMV_PACKETS);

		okf(greetings != packets && !((greetings | packets) >> 31), "job %llu: %#x and %#x",
		    (unsigned long long)job, greetings, packets);
		ok(greetings != pmv_q_key(job + 1, PMV_GREETINGS));
		ok(greetings == pmv_q_key(job, PMV_GREETINGS));
		seen |= greetings;
	}
	is_int((long)seen, 0x7fffffff);
}

// SPDX-License-Identifier: BSD-3-Clause
/* Sleep that ends at a moment, or when a word changes. */
#include "scheduler/scnoded/nap.h"

#include <pthread.h>

#include "tests/harness/tap.h"

static atomic_uint word;

TAP_TEST(nap_until__a_moment)
{
	uint64_t until = nap_clock_ns() + 2000000;

	/* A signal or somebody else's word may end one earlier. */
	while (nap_clock_ns() < until)
		nap_until(&word, 0, until);
	ok(nap_clock_ns() >= until);
	is_int(word, 0);
}

TAP_TEST(nap_until__a_moment_that_is_past)
{
	uint64_t before = nap_clock_ns();

	nap_until(&word, word, before - 1);
	ok(nap_clock_ns() >= before);
}

TAP_TEST(nap_steady_ns__goes_on)
{
	uint64_t before = nap_steady_ns(), until = nap_clock_ns() + 2000000;

	while (nap_clock_ns() < until)
		nap_until(&word, word, until);
	ok(nap_steady_ns() > before);
}

TAP_TEST(nap_until__a_word_that_has_changed)
{
	unsigned int seen = word;

	nap_until(&word, seen + 1, NAP_FOREVER);
	is_int(word, seen);
}

static void *sleeper(void *arg)
{
	unsigned int seen = *(unsigned int *)arg;

	while (word == seen)
		nap_until(&word, seen, NAP_FOREVER);
	return NULL;
}

TAP_TEST(nap_end__wakes_all)
{
	unsigned int seen = word;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		must(!pthread_create(&threads[i], NULL, sleeper, &seen));
	nap_end(&word);
	for (int i = 0; i < 2; i++)
		is_int(pthread_join(threads[i], NULL), 0);
	is_int(word, seen + 1);
}

// SPDX-License-Identifier: BSD-3-Clause
/* numbers: which are free for CRIU. */
#include "scheduler/scnoded/criu/numbers.h"

#include <stdlib.h>

#include "tests/harness/tap.h"

#define USUAL_MAX 32768

TAP_TEST(numbers_choose__the_highest_below_the_usual_limit)
{
	pid_t few[] = {9, 1, 2, 4000000}, high[] = {1, USUAL_MAX - NUMBERS_FREE, 5},
	      just[] = {USUAL_MAX - NUMBERS_FREE - 1, 1};

	is_int(numbers_choose(NULL, 0), USUAL_MAX - NUMBERS_FREE);
	is_int(numbers_choose(few, 4), USUAL_MAX - NUMBERS_FREE);
	is_int(numbers_choose(high, 3), USUAL_MAX - 2 * NUMBERS_FREE);
	is_int(numbers_choose(just, 2), USUAL_MAX - NUMBERS_FREE);
}

TAP_TEST(numbers_choose__all_usual_ones_are_taken)
{
	pid_t *all = malloc(USUAL_MAX * sizeof(*all));

	must(all != NULL);
	for (int i = 0; i < USUAL_MAX; i++)
		all[i] = i;
	is_int(numbers_choose(all, USUAL_MAX), 4194304 - NUMBERS_FREE);
	free(all);
}

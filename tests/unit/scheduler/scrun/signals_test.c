// SPDX-License-Identifier: BSD-3-Clause
/* signals: what the next ^C means. */
#include "scheduler/scrun/signals.h"
#include "tests/harness/tap.h"

TAP_TEST(interrupts_judge__single_ones_are_forwarded)
{
	struct interrupts in = {0};

	is_int(interrupts_judge(&in, 10.), INTERRUPT_FORWARD);
	is_int(interrupts_judge(&in, 11.01), INTERRUPT_FORWARD);
	is_int(interrupts_judge(&in, 20.), INTERRUPT_FORWARD);
}

TAP_TEST(interrupts_judge__second_within_a_second_ends)
{
	struct interrupts in = {0};

	is_int(interrupts_judge(&in, 0.2), INTERRUPT_FORWARD);
	is_int(interrupts_judge(&in, 1.2), INTERRUPT_END);
	is_int(interrupts_judge(&in, 9.), INTERRUPT_LEAVE);
}

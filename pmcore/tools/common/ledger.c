// SPDX-License-Identifier: BSD-3-Clause
/* ledger - a counter and a bitmap of what came before it. */
#include "pmcore/tools/common/ledger.h"

/* Moves the window so that @number is the last one in it. */
static void move_to(struct ledger *ledger, uint64_t number)
{
	uint64_t step = number + 1 - ledger->next;

	ledger->came = step < LEDGER_BACK ? ledger->came << step : 0;
	ledger->came |= 1;
	ledger->next = number + 1;
}

enum ledger_verdict ledger_enter(struct ledger *ledger, uint64_t number)
{
	uint64_t gap, back;

	if (number >= ledger->next) {
		gap = number - ledger->next;
		ledger->missing += gap;
		move_to(ledger, number);
		return gap ? LEDGER_GAP : LEDGER_GOOD;
	}
	back = ledger->next - 1 - number;
	if (back >= LEDGER_BACK || ledger->came >> back & 1) {
		ledger->duplicates++;
		return LEDGER_DUPLICATE;
	}
	ledger->came |= 1ull << back;
	ledger->missing--;
	ledger->late++;
	return LEDGER_LATE;
}

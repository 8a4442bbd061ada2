/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger - which datagrams of one sender have come, by their numbers 0, 1, 2, ...: finds loss,
 * duplicates and wrong order. Pure. A number that is skipped counts as missing until it comes after
 * all; then it is late. Numbers further back than LEDGER_BACK cannot be told from duplicates.
 */
#ifndef TOOLS_LEDGER_H
#define TOOLS_LEDGER_H

#include <stdint.h>

#define LEDGER_BACK 64

/* Zeroed it has seen nothing. */
struct ledger {
	uint64_t next;       /* number expected */
	uint64_t came;       /* bit i: next - 1 - i has come */
	uint64_t missing;    /* skipped and not come since */
	uint64_t late;       /* came after later ones */
	uint64_t duplicates; /* came again */
};

enum ledger_verdict { LEDGER_GOOD, LEDGER_GAP, LEDGER_LATE, LEDGER_DUPLICATE };

enum ledger_verdict ledger_enter(struct ledger *ledger, uint64_t number);

#endif

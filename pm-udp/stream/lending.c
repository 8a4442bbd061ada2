// SPDX-License-Identifier: BSD-3-Clause
#include "pm-udp/stream/lending.h"

/*
 * Bytes under way up to which owners lend. Data that wait longer have left the caches when they are
 * read, and a reader's core alone is slower than both.
 */
#define LENT_MOST (4u << 20)
/* From these on reads are middle, and longer ones. */
#define MIDDLE (512u << 10)
#define LONGER (2u << 20)

static uint32_t class_of(uint64_t len)
{
	return len < MIDDLE ? 0 : len < LONGER ? 1 : 2;
}

static bool is_crowded(const struct pmt_load *load)
{
	return load->bytes > LENT_MOST;
}

struct pmt_terms pmt_lending_begin(struct pmt_lending *l, uint64_t len, const struct pmt_load *load,
				   uint64_t now)
{
	struct pmt_terms terms = {.how = PMT_COPIED, .is_both_ways = load->is_both_ways};
	struct choice *choice = &l->choice[terms.is_both_ways][class_of(len)];
	struct pmt_word *word = &l->word[class_of(len)];

	if (len < PMT_LENT_LEAST || is_crowded(load))
		return terms;
	if (load->is_both_ways && word->reads) {
		word->reads--;
		terms.how = word->how;
		return terms;
	}
	terms.is_measured = true;
	if (choice_begin(choice, now, &terms.spell) == CHOICE_FIRST)
		terms.how = PMT_LENT;
	return terms;
}

void pmt_lending_end(struct pmt_lending *l, const struct pmt_terms *terms, uint64_t len,
		     bool has_come, const struct pmt_load *load, uint64_t now)
{
	struct choice *choice = &l->choice[terms->is_both_ways][class_of(len)];
	bool is_as_before = load->is_both_ways == terms->is_both_ways && !is_crowded(load);

	choice_end(choice, terms->spell, len, has_come && is_as_before, now);
}

void pmt_lending_led(struct pmt_lending *l, uint64_t len, enum pmt_how how)
{
	/* shorter ones are always copied */
	if (len >= PMT_LENT_LEAST)
		l->word[class_of(len)] = (struct pmt_word){how, PMT_LED_READS};
}

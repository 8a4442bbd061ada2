// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/stream/lending.c in virtual time: which reads are lent, which are measured, and
 * what does not count.
 */
#include "pm-udp/stream/lending.h"

#include "tests/harness/tap.h"

#define MIB (1u << 20)

/* An owner whose reads take so many ns for each way. */
struct owner {
	struct pmt_lending lending;
	uint64_t now, takes[2];
	uint32_t used[2];
};

static void read_once(struct owner *o, uint64_t len, struct pmt_load at_begin,
		      struct pmt_load at_end)
{
	struct pmt_terms terms = pmt_lending_begin(&o->lending, len, &at_begin, o->now);

	o->used[terms.how]++;
	o->now += o->takes[terms.how];
	if (terms.is_measured)
		pmt_lending_end(&o->lending, &terms, len, true, &at_end, o->now);
	o->now += 100000;
}

static void read_many(struct owner *o, uint64_t len, uint32_t reads)
{
	o->used[PMT_COPIED] = o->used[PMT_LENT] = 0;
	for (uint32_t i = 0; i < reads; i++)
		read_once(o, len, (struct pmt_load){.bytes = len}, (struct pmt_load){0});
}

TAP_TEST(lending__takes_what_is_faster)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 200000}};

	read_many(&o, MIB, 2000);
	okf(o.used[PMT_COPIED] > 1800, "%u of 2000 copied", o.used[PMT_COPIED]);
	ok(o.used[PMT_LENT] > 0);
	o = (struct owner){.takes = {[PMT_COPIED] = 200000, [PMT_LENT] = 150000}};
	read_many(&o, MIB, 2000);
	okf(o.used[PMT_LENT] > 1800, "%u of 2000 lent", o.used[PMT_LENT]);
	ok(o.used[PMT_COPIED] > 0);
}

/* The rates of short reads tell nothing of long ones. */
TAP_TEST(lending__lengths_are_apart)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 200000}};

	read_many(&o, MIB, 2000);
	o.takes[PMT_LENT] = 100000;
	read_many(&o, MIB / 4, 64);
	is_int(o.used[PMT_LENT], 48);
	read_many(&o, MIB / 4, 1000);
	okf(o.used[PMT_LENT] > 900, "%u of 1000 lent", o.used[PMT_LENT]);
	read_many(&o, 4 * MIB, 1000);
	okf(o.used[PMT_LENT] > 900, "%u of 1000 lent", o.used[PMT_LENT]);
}

TAP_TEST(lending__is_for_few_long_reads)
{
	struct pmt_lending lending = {0};
	struct pmt_load few = {.bytes = 4u * MIB}, many = {.bytes = 4u * MIB + 1};
	struct pmt_terms terms = pmt_lending_begin(&lending, MIB, &few, 1);

	ok(terms.how == PMT_LENT && terms.is_measured);
	terms = pmt_lending_begin(&lending, MIB, &many, 1);
	ok(terms.how == PMT_COPIED && !terms.is_measured);
	terms = pmt_lending_begin(&lending, PMT_LENT_LEAST - 1, &few, 1);
	ok(terms.how == PMT_COPIED && !terms.is_measured);
}

/*
 * Rates that are measured while data go one way say nothing about data that go both ways, and the
 * other way round.
 */
TAP_TEST(lending__both_ways_are_apart)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 200000}};
	struct pmt_load both = {.bytes = MIB, .is_both_ways = true};

	read_many(&o, MIB, 200);
	o.takes[PMT_LENT] = 100000;
	o.used[PMT_COPIED] = o.used[PMT_LENT] = 0;
	for (int i = 0; i < 1000; i++)
		read_once(&o, MIB, both, both);
	okf(o.used[PMT_LENT] > 900, "%u of 1000 lent", o.used[PMT_LENT]);
	o.takes[PMT_LENT] = 200000;
	read_many(&o, MIB, 200);
	okf(o.used[PMT_COPIED] > 150, "%u of 200 copied", o.used[PMT_COPIED]);
}

/*
 * While data go both ways the one that is led asks as it was asked lately for as long a read, and
 * measures nothing.
 */
TAP_TEST(lending__follows_the_leader)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 100000}};
	struct pmt_load both = {.bytes = MIB, .is_both_ways = true}, alone = {.bytes = MIB};
	struct pmt_terms terms;

	pmt_lending_led(&o.lending, PMT_LENT_LEAST - 1, PMT_COPIED);
	terms = pmt_lending_begin(&o.lending, PMT_LENT_LEAST, &both, 1);
	ok(terms.how == PMT_LENT && terms.is_measured);
	pmt_lending_led(&o.lending, MIB, PMT_COPIED);
	terms = pmt_lending_begin(&o.lending, MIB, &both, 1);
	ok(terms.how == PMT_COPIED && !terms.is_measured);
	terms = pmt_lending_begin(&o.lending, MIB / 4, &both, 1);
	ok(terms.how == PMT_LENT && terms.is_measured);
	terms = pmt_lending_begin(&o.lending, MIB, &alone, 1);
	ok(terms.how == PMT_LENT && terms.is_measured);
	pmt_lending_led(&o.lending, MIB, PMT_LENT);
	terms = pmt_lending_begin(&o.lending, MIB, &both, 1);
	ok(terms.how == PMT_LENT && !terms.is_measured);
}

/*
 * A leader that asks for nothing any more leads no more: the one that it led finds out by itself.
 */
TAP_TEST(lending__a_silent_leader_leads_no_more)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 15000}};
	struct pmt_load both = {.bytes = MIB, .is_both_ways = true};

	pmt_lending_led(&o.lending, MIB, PMT_COPIED);
	for (int i = 0; i < PMT_LED_READS; i++)
		read_once(&o, MIB, both, both);
	is_int(o.used[PMT_COPIED], PMT_LED_READS);
	for (int i = 0; i < 1000; i++)
		read_once(&o, MIB, both, both);
	okf(o.used[PMT_LENT] > 900, "%u of 1000 lent", o.used[PMT_LENT]);
}

/*
 * Reads that others came beside, or too many, say nothing of the way that they took: no trial
 * follows.
 */
TAP_TEST(lending__what_was_disturbed_does_not_count)
{
	struct owner o = {.takes = {[PMT_COPIED] = 150000, [PMT_LENT] = 200000}};
	struct pmt_load alone = {.bytes = MIB}, both = {.is_both_ways = true},
			many = {.bytes = 5u * MIB};

	for (int i = 0; i < 100; i++)
		read_once(&o, MIB, alone, i % 2 ? both : many);
	is_int(o.used[PMT_LENT], 100);
	for (int i = 0; i < 100; i++)
		read_once(&o, MIB, both, i % 2 ? alone : many);
	is_int(o.used[PMT_LENT], 200);
	is_int(o.lending.choice[0][1].under_way, 0);
	is_int(o.lending.choice[1][1].under_way, 0);
}

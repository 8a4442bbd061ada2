/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lending - may an owner lend its pages to its kernel for a read, or does it send a copy? Lending
 * spares the owner's core a copy, but both cores then take turns at the kernel's counter of each
 * page, which costs some machines more than a copy. While more is under way than the caches hold,
 * copies were faster on each machine that was measured. Else the faster one is found out, for each
 * owner and length, and for data that go one way and both ways. Pure: time is an argument, ns.
 *
 * While two nodes read from each other, a copy that one of them asks for takes time of the other
 * one, so neither gets anything from a way that only it takes. One of the two leads: it measures,
 * and the other one asks as it was asked lately for as long a read. (Over several rails a request
 * is only a part of a read, and says nothing of longer ones.)
 */
#ifndef PM_UDP_STREAM_LENDING_H
#define PM_UDP_STREAM_LENDING_H

#include "pm-udp/stream/wire.h"
#include "pmcore/util/choice.h"

/* A leader that has said nothing during so many reads leads no more. */
#define PMT_LED_READS 16
/* Shorter reads are cheaper to copy, many in a call. */
#define PMT_LENT_LEAST (128u << 10)
#define PMT_LENGTHS 3 /* shorter, middle and longer reads */

/* The rates of an owner; all zero: none is known. */
struct pmt_lending {
	struct choice choice[2][PMT_LENGTHS]; /* while data go one way, and both ways */
	/*
	 * The way in which the owner, which leads, has asked for data here; for so many next reads
	 * both ways.
	 */
	struct pmt_word {
		enum pmt_how how;
		uint32_t reads;
	} word[PMT_LENGTHS];
};

/* The transfers of this process. */
struct pmt_load {
	uint64_t bytes;    /* of reads, its own and those of others */
	bool is_both_ways; /* others read from here while this process reads, now or lately */
};

/* Of one read. */
struct pmt_terms {
	enum pmt_how how;
	bool is_both_ways, is_measured;
	uint32_t spell; /* of the choice, if so */
};

/* A read of @len bytes begins; @load: with it. */
struct pmt_terms pmt_lending_begin(struct pmt_lending *l, uint64_t len, const struct pmt_load *load,
				   uint64_t now);
/* A measured read is over, with all of its bytes if @has_come; @load: without it. */
void pmt_lending_end(struct pmt_lending *l, const struct pmt_terms *terms, uint64_t len,
		     bool has_come, const struct pmt_load *load, uint64_t now);
/* The owner, which leads, asked for @len bytes in this way. */
void pmt_lending_led(struct pmt_lending *l, uint64_t len, enum pmt_how how);

#endif

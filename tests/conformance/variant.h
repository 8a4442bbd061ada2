/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variant - the devices the conformance suite runs on. A test is written once and registered for
 * each: CONFORMS(send__every_size) { ... uses crew ... }
 */
#ifndef TESTS_CONFORMANCE_VARIANT_H
#define TESTS_CONFORMANCE_VARIANT_H

#include "tests/harness/crew.h"
#include "tests/harness/ethhosts.h"
#include "tests/harness/tap.h"
#include "tests/harness/verbsports.h"

/* Three members. In "composite" members 0 and 1 meet by shmem and member 2 is reached by udp. */
struct variant {
	const char *name;
	const char *configs[3];
	bool is_faulted; /* packets are lost on purpose: give things more time */
};

#define FAULTS "fault=7:drop=2%:dup=1%:reorder=2%:corrupt=1%"

#define CONFORMS_ON(id, dev, is_fault, c0, c1, c2)                                                 \
	TAP_TEST(id##__##dev)                                                                      \
	{                                                                                          \
		static const struct variant v = {#dev, {c0, c1, c2}, is_fault};                    \
		struct crew crew;                                                                  \
		if (crew_open(&crew, 3, v.configs))                                                \
			body_##id(&v, &crew);                                                      \
		crew_close(&crew);                                                                 \
	}

/* Three hosts of namespaces with two rails each. */
#define CONFORMS_ON_ETHERNET(id, attach)                                                           \
	TAP_TEST(id##__eth_##attach)                                                               \
	{                                                                                          \
		char c[ETHHOSTS][ETHHOSTS_CONFIG];                                                 \
		const char *why = ethhosts_configs(#attach, c);                                    \
		const struct variant v = {"eth_" #attach, {c[0], c[1], c[2]}, false};              \
		struct crew crew;                                                                  \
		if (why) {                                                                         \
			tap_skip("%s", why);                                                       \
			return;                                                                    \
		}                                                                                  \
		if (crew_open(&crew, 3, v.configs))                                                \
			body_##id(&v, &crew);                                                      \
		crew_close(&crew);                                                                 \
	}

/* Needs RDMA ports, which can send to themselves: skipped without. */
#define CONFORMS_ON_VERBS(id, dev, is_fault, options)                                              \
	TAP_TEST(id##__##dev)                                                                      \
	{                                                                                          \
		char c[3][VERBSPORTS_CONFIG];                                                      \
		const char *why = verbsports_configs(3, options, c);                               \
		const struct variant v = {                                                         \
			#dev, {c[0], c[1], c[2]}, is_fault || verbsports_are_faulted()};           \
		struct crew crew;                                                                  \
		if (why) {                                                                         \
			tap_skip("%s", why);                                                       \
			return;                                                                    \
		}                                                                                  \
		if (crew_open(&crew, 3, v.configs)) {                                              \
			verbsports_break();                                                        \
			body_##id(&v, &crew);                                                      \
			verbsports_mend();                                                         \
		}                                                                                  \
		crew_close(&crew);                                                                 \
		is_int(verbsports_open(), 0);                                                      \
	}

#define CONFORMS(id)                                                                               \
	static void body_##id(const struct variant *variant, struct crew *crew);                   \
	CONFORMS_ON(id, shmem, false, "devices=self+shmem", "devices=self+shmem",                  \
		    "devices=self+shmem")                                                          \
	CONFORMS_ON(id, shmem_ring, false, "devices=self+shmem,shmem.large=ring",                  \
		    "devices=self+shmem,shmem.large=ring", "devices=self+shmem,shmem.large=ring")  \
	CONFORMS_ON(id, udp, false, "devices=self+udp,udp.rails=lo",                               \
		    "devices=self+udp,udp.rails=lo", "devices=self+udp,udp.rails=lo")              \
	CONFORMS_ON(id, udp_faulted, true, "devices=self+udp,udp.rails=lo,channel.crc=1," FAULTS,  \
		    "devices=self+udp,udp.rails=lo,channel.crc=1," FAULTS,                         \
		    "devices=self+udp,udp.rails=lo,channel.crc=1," FAULTS)                         \
	CONFORMS_ON(id, composite, false, "devices=self+shmem+udp,udp.rails=lo",                   \
		    "devices=self+shmem+udp,udp.rails=lo", "devices=self+udp,udp.rails=lo")        \
	CONFORMS_ON_VERBS(id, verbs, false, "verbs.path=connected")                                \
	/* receives of each connection, and shared ones that are fewer than the credits */         \
	CONFORMS_ON_VERBS(id, verbs_own, false, "verbs.path=connected,verbs.shared=0")             \
	CONFORMS_ON_VERBS(id, verbs_few, false, "verbs.path=connected,verbs.shared=16")            \
	CONFORMS_ON_VERBS(id, verbs_datagram, false, "verbs.path=datagram")                        \
	CONFORMS_ON_VERBS(id, verbs_datagram_faulted, true,                                        \
			  "verbs.path=datagram,channel.crc=1," FAULTS)                             \
	CONFORMS_ON_ETHERNET(id, direct)                                                           \
	CONFORMS_ON_ETHERNET(id, port)                                                             \
	static void body_##id(const struct variant *variant, struct crew *crew)

#endif

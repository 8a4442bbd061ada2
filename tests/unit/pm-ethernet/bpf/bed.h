/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host for the kernel programs to run on, with nothing of it real: maps of its own, filled in,
 * and the kernel's test run in place of a network. No pins, no interface but loopback's number, so
 * that any number of them lives side by side. main() of these tests is bed_main.c: they need bpf().
 *
 * A test is for XDP's set of programs; NAME_tc_test.c is the same for tc's. Verdicts have the names
 * of XDP for both: a frame that was found in an inbox behind a run was redirected there.
 */
#ifndef TESTS_UNIT_PM_ETHERNET_BPF_BED_H
#define TESTS_UNIT_PM_ETHERNET_BPF_BED_H

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm-ethernet/bpf/maps.h"

#define BED_KEY 0x1122334455667788ull
#define BED_HOST 7     /* this host */
#define BED_FAR_HOST 9 /* another */
#define BED_TYPE htons(ETH_TYPE_DEFAULT)
#define BED_NICS 4
#define BED_FRAME_MAX 9100
#define BED_POINTS 1024 /* hosts that a grid may have */

/* Contexts of this host, all of one job but for the last one. */
enum {
	BED_DIRECT = 5,   /* has a socket on each NIC */
	BED_PORT = 6,     /* has a port, whose switch end is the interface of the test run */
	BED_DETACHED = 8, /* known, but neither */
	BED_ALIEN = 9,    /* a port of another job */
};

enum bed_program { BED_NIC, BED_FROM_PORT, BED_DOOR, BED_PROGRAMS };

#ifndef BED_IS_TC
#define BED_IS_TC false
#endif
/* Back where it came from; tc has no verdict for that alone. */
#define BED_ANSWERS (BED_IS_TC ? XDP_REDIRECT : XDP_TX)
/* Bytes behind the packet's head of a long frame; the test run for tc takes no more than a page. */
#define BED_LONG (BED_IS_TC ? 3000 : 8900)
#define BED_INBOX_BYTES 65536

/* The ring of a context, from its reader's side. */
struct bed_inbox {
	int fd;
	uint64_t *consumer, *producer; /* positions */
	uint8_t *bytes;
	uint64_t taken; /* position up to which it was read */
};

struct bed {
	struct bpf_object *object;
	bool is_tc;
	int programs[BED_PROGRAMS];
	int host, nics, contexts, sockets, doors, inboxes, ports, rails, grants, counters;
	int grid, points, neighbours, pulses;
	struct bed_inbox direct, port; /* those of BED_DIRECT and BED_PORT */
	bool is_reader_asleep;         /* the positions of their readers are the test's */
	int socket;                    /* AF_XDP, bound to nothing: the maps want one */
	uint32_t rail;
	uint32_t loopback;         /* interface that frames come from */
	uint32_t interface, queue; /* or this one, 0 = none */
};

/* A frame with a packet header in front of @body bytes, as it came, goes, and came out of a run. */
struct bed_frame {
	uint32_t length; /* bytes */
	union {
		struct {
			struct eth_frame head;
			struct {
				uint8_t version, type, flags, rail;
				uint16_t length, credit;
				uint64_t key;
				uint8_t rest[32];
			} packet;
		};
		uint8_t bytes[BED_FRAME_MAX];
	};
};

struct bed_table {
	struct eth_counters rows[ETH_COUNTERS];
};

/*
 * Loads the programs as for NIC @rail; false: the running test has failed, bed_close is still due.
 */
#define bed_open(bed, rail, is_frags) bed_open_at(bed, rail, is_frags, BED_IS_TC)
bool bed_open_at(struct bed *bed, uint32_t rail, bool is_frags, bool is_tc);
void bed_close(struct bed *bed);

/* A packet of BED_KEY with @body bytes from BED_FAR_HOST to @context here. */
void bed_packet_in(struct bed_frame *ret, uint16_t context, uint16_t body);
/* The same from BED_PORT to context 3 of BED_FAR_HOST. */
void bed_packet_out(struct bed_frame *ret, uint16_t body);

/* Runs a program once: its verdict or -errno; *ret_out (may be @in) is the frame behind it. */
int bed_run(struct bed *bed, enum bed_program program, const struct bed_frame *in,
	    struct bed_frame *ret_out);

/*
 * Runs it @repeat times on one frame, each time on what the run before left of it: the last verdict
 * or -errno. *ret_ns is what a run took on average, by the kernel's own clock.
 */
int bed_time(struct bed *bed, enum bed_program program, const struct bed_frame *in, uint32_t repeat,
	     struct bed_frame *ret_out, uint32_t *ret_ns);

/* Takes the frames of an inbox, *ret_out is the last one; false: there is none. */
bool bed_look(const struct bed *bed, struct bed_inbox *inbox, struct bed_frame *ret_out);

/* The counters of all CPUs, summed. */
void bed_count(const struct bed *bed, uint32_t row, struct eth_counters *ret);

/* Assertions on a run: the verdict, and that nothing at all was counted but what it says. */
void bed_drops(struct bed *bed, enum bed_program program, const struct bed_frame *frame,
	       enum eth_drop reason);
/* Redirected; counted as taken where @is_taken. *ret_out is the frame that went on. */
void bed_redirects(struct bed *bed, enum bed_program program, const struct bed_frame *frame,
		   bool is_taken, struct bed_frame *ret_out);
/* Passed as it was; counted as control where @is_control. */
void bed_passes(struct bed *bed, const struct bed_frame *frame, bool is_control);

/* Any verdict, with this change of the program's counters. *ret_out is the frame behind it. */
void bed_does(struct bed *bed, enum bed_program program, const struct bed_frame *frame, int verdict,
	      const struct eth_counters *change, struct bed_frame *ret_out);

/*
 * Puts this host into a grid of @n_dims dimensions, with all hosts and all neighbours open. Host
 * ids run through the points, the last dimension fastest; rails through the dimensions, @n_rails in
 * all. *ret is the grid.
 */
void bed_set_grid(const struct bed *bed, const uint16_t *dims, uint32_t n_dims, uint32_t n_rails,
		  struct eth_grid *ret);
struct eth_point bed_point(const struct eth_grid *grid, uint32_t host_id);
/* The neighbour at a coordinate of the line of a rail; its address tells both. */
struct eth_neighbour bed_neighbour(uint32_t rail, uint32_t at, bool is_open);
void bed_set_neighbour(const struct bed *bed, uint32_t rail, uint32_t at, bool is_open);

/* Changes of the set-up. */
void bed_come_from(struct bed *bed, uint32_t interface, uint32_t queue);
void bed_set_host(const struct bed *bed, uint16_t n_nics);
void bed_set_context(const struct bed *bed, uint32_t number, uint64_t key, uint32_t attachment);
bool bed_put(int map, uint32_t key, const void *value);
bool bed_remove(int map, uint32_t key);
/* The NIC of a rail is gone. */
bool bed_remove_nic(const struct bed *bed, uint32_t rail);

#endif

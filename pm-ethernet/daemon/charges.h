/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * charges - what memory is whose. All that is handed out with a grant is charged to its user until
 * nobody holds it any more: the lease may end long before that. Knows files and bytes, not what
 * they are for.
 */
#ifndef PM_ETHERNET_DAEMON_CHARGES_H
#define PM_ETHERNET_DAEMON_CHARGES_H

#include <stdbool.h>
#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/* the kernel frees what was pinned so long after the last close */
#define ETHD_SETTLE_NS 100000000ull

/* Makes d->held, and sees whether the kernel tells who holds what. */
int ethd_charges_open(struct ethd *d);
/* 0; -EDQUOT with a sentence: @more is too much beside what the user is charged for already. */
int ethd_charges_allow(struct ethd *d, uid_t uid, uint64_t more, char *why, size_t why_size);
/*
 * 0; -ENOMEM with a sentence: our own group has no room for @more. Each user but root leaves as
 * much of it as he has.
 */
int ethd_charges_allow_own(struct ethd *d, uid_t uid, uint64_t more, char *why, size_t why_size);
/* Whether there is room now for @more of what was allowed. */
bool ethd_charges_fit_own(uint64_t more);
/* Charges a user, from before anything is made. NULL: no memory. */
struct ethd_charge *ethd_charge_begin(struct ethd *d, uid_t uid, uint64_t bytes);
/*
 * The last that the daemon does with a descriptor that processes have too, before it is closed
 * here.
 */
void ethd_charge_watch(struct ethd *d, struct ethd_charge *charge, int fd);
/*
 * Nothing more is handed out. It goes when nobody holds any of it: the port (-1 = none) when no
 * socket is left, memory and bytes when nothing is.
 */
void ethd_charge_end(struct ethd *d, struct ethd_charge *charge, int port);
/* Bytes that a user is charged for. */
uint64_t ethd_charges_bytes(const struct ethd *d, uid_t uid);
/* Grants of a user whose lease had ended at the last look, and whose sockets somebody keeps. */
uint32_t ethd_charges_kept(const struct ethd *d, uid_t uid);
/* All that ended and was not gone then. */
uint32_t ethd_charges_ended(const struct ethd *d, uid_t uid);
/* Looks what is held, if it is time; the next deadline, UINT64_MAX = none. */
uint64_t ethd_charges_timer(struct ethd *d, uint64_t now_ns);
/* Looks what is held now. */
void ethd_charges_look(struct ethd *d);
/* Some descriptors were closed: it is time to look. */
void ethd_charges_hurry(struct ethd *d);
/* Frees all, at the daemon's end. */
void ethd_charges_forget(struct ethd *d);

#endif

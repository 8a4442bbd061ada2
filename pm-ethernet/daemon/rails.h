/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rails - the NICs as the kernel shows them now: found by name, watched for carrier, removal and
 * return, told to the board and to the kernel programs. Owns ethd.rails and the sizes that follow
 * from MTUs.
 */
#ifndef PM_ETHERNET_DAEMON_RAILS_H
#define PM_ETHERNET_DAEMON_RAILS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/*
 * Looks at the NICs of the options. How many are missing, with a sentence about one of them;
 * -ENODEV when all are; -EINVAL, -EAFNOSUPPORT one can't be used, with a sentence.
 */
int ethd_rails_open(struct ethd *d, char *why, size_t why_size);
/* Host rail of interface @name, -ENODEV. */
int ethd_rail_find(const struct ethd *d, const char *name);
/* Names of all rails, separated by blanks. */
void ethd_rails_names(const struct ethd *d, char *ret, size_t size);
/* Something changed: looks again, programs a NIC that came back, tells board and maps. */
void ethd_rails_refresh(struct ethd *d);
/* Writes all that is known of the rails to board and maps. */
void ethd_rails_publish(struct ethd *d);
/* Switches an offload off (ETHTOOL_S...); one that can't be switched is passed over. */
void ethd_offload_off(const char *name, uint32_t command);
/*
 * The rails that a process asks for, at most ETH_RAILS; -errno with a sentence of at most ETH_WHY
 * bytes.
 */
int ethd_rails_choose(const struct ethd *d, const struct eth_request *r, uint8_t *ret_rails,
		      uint32_t *ret_n, char *why);

#endif

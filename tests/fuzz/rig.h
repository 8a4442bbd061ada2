/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig - an engine with live state for fuzz targets: node 1 of a job, its only peer is node 0.
 * Messages and one-sided operations are under way in both directions. The device swallows what is
 * posted; received buffers are heap blocks of the exact size. Everything is back when the rig goes,
 * or it aborts.
 */
#ifndef TESTS_FUZZ_RIG_H
#define TESTS_FUZZ_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "pmcore/channel/channel.h"

#define RIG_KEY 0x0123456789abcdefull
#define RIG_SELF 1
#define RIG_PEER 0
#define RIG_RAILS 2

struct rig;

struct rig *rig_create(void);
/* The same with no peer and no traffic. */
struct rig *rig_create_idle(void);
void rig_destroy(struct rig *rig);
struct chan *rig_chan(struct rig *rig);
/*
 * A packet arrives; then the engine is polled, everything delivered is read, invariants are
 * checked.
 */
void rig_input(struct rig *rig, const void *data, size_t len, uint32_t rail);
/* Lets time pass and polls. */
void rig_wait(struct rig *rig, uint64_t ns);
/* Key of memory that the peer may read and write. */
uint64_t rig_rkey(const struct rig *rig);
/* For chan_thaw. */
int rig_resolve(void *arg, uint32_t node, struct chan_peer **ret_peer);

#endif

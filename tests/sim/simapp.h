/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simapp - the application on each node of a simulated job, and the model: what was sent and has to
 * arrive. Called by sim.c; tests use sim.h.
 */
#ifndef TESTS_SIM_SIMAPP_H
#define TESTS_SIM_SIMAPP_H

#include "tests/sim/sim.h"

/* Takes and checks what has arrived. */
void simapp_receive(struct sim *sim, uint32_t node);
/* Sends and starts as much as the engine takes. */
void simapp_send(struct sim *sim, uint32_t node, uint64_t now);
/* Notes operations that are done and checks their data. */
void simapp_reap(struct sim *sim, uint32_t node);
/* Nothing more is expected between two nodes. */
void simapp_cut(struct sim *sim, uint32_t a, uint32_t b);
bool simapp_is_done(struct sim *sim);
/* Prints what is missing. */
void simapp_explain(const struct sim *sim);
/* The engines' counters agree with what was done. */
void simapp_check_counters(const struct sim *sim);
void simapp_fini(struct sim *sim);

#endif

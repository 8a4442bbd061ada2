/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpir - what debuggers look for in a launcher: the MPIR process acquisition interface. A debugger
 * that started scrun sets MPIR_being_debugged and a breakpoint in MPIR_Breakpoint; one that
 * attaches later reads the table.
 */
#ifndef SCHEDULER_SCRUN_MPIR_H
#define SCHEDULER_SCRUN_MPIR_H

#include <jansson.h>

#include "scheduler/scrun/place.h"

#define MPIR_DEBUG_SPAWNED 1
#define MPIR_DEBUG_ABORTING 2

/* The layout is the interface's. */
typedef struct {
	char *host_name;
	char *executable_name;
	int pid;
} MPIR_PROCDESC;

extern MPIR_PROCDESC *MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_being_debugged;
extern volatile int MPIR_debug_state;
extern int MPIR_i_am_starter;
extern int MPIR_partial_attach_ok;
void MPIR_Breakpoint(void);

/*
 * Fills the table from OP_PROCESSES' ranks, and tells the debugger. Without memory the table stays
 * empty.
 */
void mpir_spawned(const json_t *ranks, const struct place *place);
/* The job is over. */
void mpir_ended(void);

#endif

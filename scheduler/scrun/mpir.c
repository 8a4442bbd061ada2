// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/mpir.h"

#include <stdlib.h>
#include <string.h>

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged;
volatile int MPIR_debug_state;
int MPIR_i_am_starter;
int MPIR_partial_attach_ok = 1;

__attribute__((noinline)) void MPIR_Breakpoint(void)
{
	/* Something for the breakpoint to stand on. */
	__asm__ volatile("");
}

static void clear(void)
{
	for (int i = 0; i < MPIR_proctable_size; i++) {
		free(MPIR_proctable[i].host_name);
		free(MPIR_proctable[i].executable_name);
	}
	free(MPIR_proctable);
	MPIR_proctable = NULL;
	MPIR_proctable_size = 0;
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

void mpir_spawned(const json_t *ranks, const struct place *place)
{
	const json_t *entry;
	size_t i;

	clear();
	MPIR_proctable = calloc(json_array_size(ranks) + 1, sizeof(*MPIR_proctable));
	if (!MPIR_proctable)
		return;
	json_array_foreach(ranks, i, entry) {
		json_int_t host = json_integer_value(json_object_get(entry, "host"));

		MPIR_proctable[i] = (MPIR_PROCDESC){
			copy(host >= 0 && (size_t)host < place->n_hosts ? place->hosts[host]
									: NULL),
			copy(json_string_value(json_object_get(entry, "executable"))),
			(int)json_integer_value(json_object_get(entry, "pid"))};
	}
	MPIR_proctable_size = (int)json_array_size(ranks);
	MPIR_debug_state = MPIR_DEBUG_SPAWNED;
	MPIR_Breakpoint();
}

void mpir_ended(void)
{
	if (MPIR_proctable && MPIR_being_debugged) {
		MPIR_debug_state = MPIR_DEBUG_ABORTING;
		MPIR_Breakpoint();
	}
	clear();
}

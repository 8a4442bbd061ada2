// SPDX-License-Identifier: BSD-3-Clause
/* mpir: the table that debuggers read. */
#include "scheduler/scrun/mpir.h"
#include "tests/harness/tap.h"

TAP_TEST(mpir_spawned__table)
{
	json_t *head = json_loads(
		"{\"hosts\":[\"a\",\"b\"],\"ranks\":[1,1],\"id\":1,\"uid\":0,\"leader\":\"l\"}", 0,
		NULL);
	json_t *ranks = json_loads("[{\"rank\":0,\"host\":0,\"pid\":11,\"executable\":\"/bin/x\"},"
				   "{\"rank\":1,\"host\":1,\"pid\":22,\"executable\":\"/bin/y\"},"
				   "{\"rank\":2,\"host\":9}]",
				   0, NULL);
	struct place *place = place_read(head, 2);

	must(place);
	mpir_spawned(ranks, place);
	is_int(MPIR_proctable_size, 3);
	is_int(MPIR_debug_state, MPIR_DEBUG_SPAWNED);
	is_str(MPIR_proctable[0].host_name, "a");
	is_str(MPIR_proctable[1].host_name, "b");
	is_str(MPIR_proctable[1].executable_name, "/bin/y");
	is_int(MPIR_proctable[1].pid, 22);
	is_str(MPIR_proctable[2].host_name, "");
	mpir_ended();
	is_int(MPIR_proctable_size, 0);
	place_free(place);
	json_decref(ranks);
	json_decref(head);
}

// SPDX-License-Identifier: BSD-3-Clause
/* scstest - stress of a whole job: the nodes talk to each other and verify everything. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/session.h"
#include "pmcore/tools/common/wait.h"
#include "pmcore/tools/scstest/settings.h"
#include "pmcore/tools/scstest/stress.h"

static int meet(const struct settings *settings, struct boot **ret_boot)
{
	if (settings->alone)
		return boot_alone_open(ret_boot);
	if (boot_pmix_is_offered())
		return boot_pmix_open(ret_boot);
	message_error("no other node: start it as \"mpirun -np N scstest\", or scstest --self");
	return -EINVAL;
}

/* All nodes make the same seed of the job's key when none is given. */
static void choose_seed(struct settings *settings, const struct boot *boot)
{
	if (settings->seed == UINT64_MAX)
		settings->seed = (uint32_t)(boot->key ^ boot->key >> 32);
	if (boot->self == 0 && !settings->json) {
		char grid[EXCHANGE_TEXT];

		exchange_grid_text(&settings->grid, grid);
		printf("# scstest %s: %u nodes, %s%s%s, seed %" PRIu64 "\n", PM_VERSION,
		       boot->nodes, settings->pattern_text, *grid ? " " : "", grid, settings->seed);
		fflush(stdout);
	}
}

static int run(struct settings *settings)
{
	struct session session;
	struct boot *boot;
	int rc;

	rc = meet(settings, &boot);
	if (rc)
		return rc;
	message_node(boot->self);
	rc = settings_suit(settings, boot->nodes);
	if (rc) {
		boot->ops->close(boot, false);
		return rc;
	}
	choose_seed(settings, boot);
	rc = session_open(&session, boot, settings->limit);
	if (rc)
		return rc;
	rc = stress_run(&session, settings);
	/* Wrong data are no reason to leave the others without a goodbye. */
	session_close(&session, rc == -EBADMSG ? 0 : rc);
	return rc;
}

int main(int argc, char **argv)
{
	struct settings settings;
	int rc;

	rc = settings_read(argc, argv, &settings);
	if (rc == -ECANCELED)
		return MESSAGE_OK;
	if (rc)
		return message_exit_code(rc);
	wait_catch_signals();
	return message_exit_code(run(&settings));
}

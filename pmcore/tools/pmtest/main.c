// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmtest - measures PM between two nodes. Finds out how it was started; node 0 drives, node 1
 * obeys.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/session.h"
#include "pmcore/tools/common/wait.h"
#include "pmcore/tools/pmtest/drive.h"
#include "pmcore/tools/pmtest/plan.h"
#include "pmcore/tools/pmtest/respond.h"

static int check_nodes(struct boot *boot)
{
	if (boot->nodes <= 2)
		return 0;
	if (boot->self == 0)
		message_error(
			"this job has %u nodes, pmtest runs between two: start 2, or use scstest",
			boot->nodes);
	boot->ops->close(boot, true);
	return -EINVAL;
}

/* The test with whom @boot has found; takes it. */
static int run(struct boot *boot, const struct plan *plan)
{
	struct session session;
	int rc;

	rc = check_nodes(boot);
	if (rc)
		return rc;
	rc = session_open(&session, boot, plan->limit);
	if (rc)
		return rc;
	session.wait.how = plan->how;
	rc = session_meet_peer(&session);
	if (!rc)
		rc = session.self == 0 ? drive(&session, plan) : respond(&session);
	session_close(&session, rc);
	return rc;
}

/* One client after the other; a bad one is no reason to stop. */
static int serve(const struct plan *plan)
{
	struct boot *boot;
	int listener, rc;

	rc = boot_tcp_listen(plan->port, &listener);
	if (rc)
		return rc;
	message_note("listening on port %u", plan->port);
	do {
		rc = boot_tcp_accept(listener, &boot);
		if (!rc) {
			message_note("client %s", boot->peer);
			rc = run(boot, plan);
		}
	} while (!plan->once && rc != -EINTR && !wait_is_interrupted());
	close(listener);
	/* whatever the last client's end looked like, the signal is what ends us */
	return wait_is_interrupted() ? -EINTR : rc;
}

static int start(const struct plan *plan)
{
	struct boot *boot;
	int rc;

	if (plan->listen)
		return serve(plan);
	if (plan->host)
		rc = boot_tcp_connect(plan->host, &boot);
	else if (plan->alone)
		rc = boot_alone_open(&boot);
	else if (boot_pmix_is_offered())
		rc = boot_pmix_open(&boot);
	else {
		message_error("no other node: start it as \"mpirun -np 2 pmtest\", or \"pmtest "
			      "--listen\" on "
			      "one host and \"pmtest HOST\" on the other, or pmtest --self");
		return -EINVAL;
	}
	return rc ? rc : run(boot, plan);
}

int main(int argc, char **argv)
{
	struct plan plan;
	int rc;

	rc = plan_read(argc, argv, &plan);
	if (rc == -ECANCELED)
		return MESSAGE_OK;
	if (rc)
		return message_exit_code(rc);
	wait_catch_signals();
	return message_exit_code(start(&plan));
}

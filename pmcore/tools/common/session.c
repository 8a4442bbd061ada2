// SPDX-License-Identifier: BSD-3-Clause
/* session - open, close, and the sentences of failure. */
#include "pmcore/tools/common/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/util/clock.h"

#define DELIVER_MS 5000

/* PM's resolver: the boot's lookup with PM's sign. */
static int resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	struct boot *boot = arg;

	return -boot->ops->lookup(boot, node, ret_addr, ret_len);
}

static bool is_peer_gone(void *arg)
{
	struct session *session = arg;

	return session->boot->ops->is_gone(session->boot, session->peer);
}

static int open_context(struct session *session)
{
	struct pmOptions options = {
		.size = sizeof(options),
		.job_key = session->boot->key,
		.self = session->self,
		.nodes = session->nodes,
		.local = session->boot->local,
		.resolver = resolve,
		.resolver_arg = session->boot,
	};
	const char *note;
	int err = pmOpenContext(&options, &session->ctx);

	if (err) {
		message_error("%s: %s", pmErrorString(err), pmLastError());
		return -err;
	}
	if (!pmGetNote(session->ctx, &note) && *note)
		message_error("%s", note);
	return 0;
}

static int publish_address(struct session *session)
{
	uint8_t addr[PM_ADDRESS_MAX];
	size_t len = sizeof(addr);
	int err = pmGetAddress(session->ctx, addr, &len);

	if (err)
		return session_failed(session, "pmGetAddress", session->self, err);
	return session->boot->ops->publish(session->boot, addr, len);
}

int session_open(struct session *session, struct boot *boot, double limit_s)
{
	int rc;

	*session = (struct session){
		.boot = boot, .self = boot->self, .nodes = boot->nodes, .ctx = PM_CONTEXT_NONE};
	session->peer = boot->nodes == 2 ? 1 - boot->self : boot->self;
	rc = open_context(session);
	if (!rc) {
		wait_init(&session->wait, session->ctx, (uint64_t)(limit_s * 1e9));
		session->wait.is_gone = is_peer_gone;
		session->wait.arg = session;
		rc = publish_address(session);
	}
	if (rc)
		session_close(session, rc);
	return rc;
}

int session_meet_peer(struct session *session)
{
	int err, rc = 0;

	while ((err = pmGetMtu(session->ctx, session->peer, &session->mtu)) == ENOBUFS && !rc)
		rc = wait_idle(&session->wait, WAIT_ROOM);
	if (rc)
		return session_gave_up(session, "address", session->peer, rc);
	if (!err)
		err = pmGetDeviceName(session->ctx, session->peer, &session->device);
	return err ? session_failed(session, "first contact", session->peer, err) : 0;
}

/*
 * Messages that still wait for room of a peer must leave before all is stopped. The peer may end
 * first, and its last acknowledgement may be lost: that is no failure of the test.
 */
static void deliver(struct session *session)
{
	uint64_t end_ns = clock_monotonic_ns() + DELIVER_MS * 1000000ull;

	while (pmIsSendDone(session->ctx, PM_NODE_ANY) == ENOBUFS && clock_monotonic_ns() < end_ns)
		if (wait_idle(&session->wait, WAIT_ROOM))
			return;
	pmQuiesce(session->ctx, DELIVER_MS);
}

void session_close(struct session *session, int rc)
{
	if (session->ctx) {
		if (!rc)
			deliver(session);
		if (!rc && session->nodes > 1)
			session->boot->ops->barrier(session->boot);
		pmCloseContext(session->ctx);
	}
	session->boot->ops->close(session->boot, rc == 0);
	memset(session, 0, sizeof(*session));
}

/* "node 1 (10.0.0.2)" */
static const char *name_node(const struct session *session, uint32_t node)
{
	static char name[96];

	if (node != session->self && session->boot->peer[0])
		snprintf(name, sizeof(name), "node %u (%s)", node, session->boot->peer);
	else
		snprintf(name, sizeof(name), "node %u", node);
	return name;
}

int session_failed(struct session *session, const char *call, uint32_t node, int err)
{
	const char *why = pmLastError();

	if (err == EPIPE)
		message_error("%s is lost: %s", name_node(session, node),
			      *why ? why : pmErrorString(err));
	else
		message_error("%s, %s: %s", call, name_node(session, node),
			      *why ? why : pmErrorString(err));
	return -err;
}

int session_gave_up(struct session *session, const char *what, uint32_t node, int rc)
{
	if (rc == -ECONNRESET)
		message_error("%s is gone: it closed its connection", name_node(session, node));
	else if (rc == -ETIMEDOUT)
		message_error("%s is silent for %.3g s: no %s from it (--limit allows more)",
			      name_node(session, node), (double)session->wait.limit_ns / 1e9, what);
	return rc;
}

// SPDX-License-Identifier: BSD-3-Clause
/* command - sending and checking of command datagrams. */
#include "pmcore/tools/pmtest/command.h"

#include <errno.h>
#include <inttypes.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/pmtest/transfer.h"

#define MAGIC 0x31545345544d504full /* "OPMTEST1" */

_Static_assert(sizeof(struct command) == 104, "no holes: it is sent as it lies");

int command_send(struct session *s, const struct command *command)
{
	struct command copy = *command;

	copy.magic = MAGIC;
	return transfer_send(s, &copy, sizeof(copy));
}

int command_receive(struct session *s, enum command_type type, struct command *ret_command)
{
	struct command command;
	int rc = transfer_receive(s, &command, sizeof(command));

	if (rc)
		return rc;
	if (command.magic != MAGIC || (type && command.type != type)) {
		message_error("node %u does not take part as it should (command %u, magic %" PRIx64
			      "): run the same pmtest on both nodes",
			      s->peer, command.type, command.magic);
		return -EBADMSG;
	}
	*ret_command = command;
	return 0;
}

int command_report(uint32_t node, uint64_t message, const struct pattern_fault *fault)
{
	message_error("wrong data at node %u: message %" PRIu64 ", byte %" PRIu64
		      ": expected 0x%02x, got 0x%02x",
		      node, message, fault->offset, fault->expected, fault->got);
	return -EBADMSG;
}

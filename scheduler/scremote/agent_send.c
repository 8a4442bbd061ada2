// SPDX-License-Identifier: BSD-3-Clause
/* agent_send - what the agent tells scout, and what proves that it is the agent. */
#include <stdio.h>
#include <string.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scremote/agent.h"

json_t *agent_text(const char *text)
{
	json_t *value = json_string(text);
	char ascii[1024];

	if (value)
		return value;
	snprintf(ascii, sizeof(ascii), "%s", text);
	for (char *c = ascii; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	return json_string(ascii);
}

void agent_send(struct agent *agent, json_t *head, const void *body, size_t size)
{
	/* Without a link scout has gone, and everything ends when that is heard. */
	if (agent->link)
		link_send(agent->link, head, body, size);
	else
		json_decref(head);
}

void agent_send_failed(struct agent *agent, uint64_t id, int error, const char *text)
{
	const char *name = strerrorname_np(error);

	agent_send(agent,
		   json_pack("{s:s, s:I, s:s, s:o}", "op", OP_FAILED, "id", (json_int_t)id, "error",
			     name ? name : "EIO", "text", agent_text(text)),
		   NULL, 0);
}

void agent_send_cut(struct agent *agent, uint64_t id, json_t *hosts, const char *why)
{
	agent_send(agent,
		   json_pack("{s:s, s:I, s:O, s:o}", "op", OP_CUT, "id", (json_int_t)id, "hosts",
			     hosts, "text", agent_text(why)),
		   NULL, 0);
}

struct auth *agent_auth(struct agent *agent)
{
	if (!agent->auth)
		agent->auth = auth_open(agent->loop, agent->munge_socket);
	return agent->auth;
}

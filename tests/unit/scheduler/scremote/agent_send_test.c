// SPDX-License-Identifier: BSD-3-Clause
/* agent_send: what scout is told, whatever bytes are in a text, and nothing when scout has gone. */
#include <errno.h>

#include "tests/unit/scheduler/scremote/fake_link.h"

static void is_text(const char *from, const char *want)
{
	json_t *text = agent_text(from);

	is_str(json_string_value(text), want);
	json_decref(text);
}

TAP_TEST(agent_text__any_bytes)
{
	char longest[2048], want[1024];

	is_text("", "");
	is_text("gr\xc3\xbc\xc3\x9f"
		"e",
		"gr\xc3\xbc\xc3\x9f"
		"e");
	is_text("no \xff\xfe utf-8", "no ?? utf-8");
	is_text("cut \xc3", "cut ?");
	is_text("\x80\x7f", "?\x7f");
	memset(longest, 0xff, sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	memset(want, '?', sizeof(want) - 1);
	want[sizeof(want) - 1] = 0;
	is_text(longest, want);
}

TAP_TEST(agent_send_failed__an_error_has_its_name)
{
	fake_open();
	agent_send_failed(&fake.agent, 7, ENOSPC, "full");
	fake_sent(fake.scout,
		  "{\"error\":\"ENOSPC\",\"id\":7,\"op\":\"failed\",\"text\":\"full\"}");
	agent_send_failed(&fake.agent, 8, 99999, "odd");
	fake_sent(fake.scout, "{\"error\":\"EIO\",\"id\":8,\"op\":\"failed\",\"text\":\"odd\"}");
	fake_close();
}

TAP_TEST(agent_send_cut__borrows_the_names)
{
	json_t *hosts = json_pack("[s, s]", "n1", "n2");

	fake_open();
	agent_send_cut(&fake.agent, 3, hosts, "gone");
	fake_sent(fake.scout,
		  "{\"hosts\":[\"n1\",\"n2\"],\"id\":3,\"op\":\"cut\",\"text\":\"gone\"}");
	is_int(json_array_size(hosts), 2);
	is_int(hosts->refcount, 1);
	json_decref(hosts);
	fake_close();
}

TAP_TEST(agent_send__scout_has_gone)
{
	json_t *head = json_pack("{s:s}", "op", "pong");

	fake_open();
	fake.agent.link = NULL;
	json_incref(head);
	agent_send(&fake.agent, head, NULL, 0);
	/* Its reference was taken nevertheless. */
	is_int(head->refcount, 1);
	ok(!fake.scout->first);
	json_decref(head);
	fake_close();
}

TAP_TEST(agent_auth__one_thread_for_all)
{
	struct auth *first;

	fake_open();
	first = agent_auth(&fake.agent);
	ok(first != NULL);
	ok(agent_auth(&fake.agent) == first && fake.agent.auth == first);
	is_int(fake.n_auths, 1);
	fake_close();
}

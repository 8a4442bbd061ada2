// SPDX-License-Identifier: BSD-3-Clause
/* message_decode(): what scout may say, and the sentence about what it may not. */
#include "scheduler/scremote/message.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

#define SHA256 "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
#define PUT                                                                                        \
	"\"op\":\"put\",\"id\":2,\"path\":\"a\",\"mode\":420,\"size\":6,\"sha256\":\"" SHA256 "\""

static int decode(struct message *m, const char *text, char why[256])
{
	json_t *head = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int err = -1;

	why[0] = 0;
	if (okf(head != NULL, "%s", text))
		err = message_decode(m, json_string_value(json_object_get(head, "op")), head, why,
				     256);
	json_decref(head);
	return err;
}

static void is_refused(const char *text, const char *part)
{
	struct message m;
	char why[256];

	is_int(decode(&m, text, why), -EINVAL);
	okf(strstr(why, part) != NULL, "\"%s\" is not in: %s", part, why);
	message_free(&m);
}

TAP_TEST(message_decode__a_command)
{
	struct message m;
	char why[256];

	must(!decode(
		&m,
		"{\"op\":\"run\",\"id\":5,\"argv\":[\"a\",{\"hex\":\"ff\"}],\"env\":{\"B\":\"c\"},"
		"\"host\":7}",
		why));
	is_int(m.kind, MESSAGE_RUN);
	is_int(m.id, 5);
	is_str(m.argv[1], "\xff");
	ok(!m.argv[2] && !m.directory && !m.has_stdin && !m.env[1]);
	is_str(m.env[0], "B=c");
	message_free(&m);
}

TAP_TEST(message_decode__a_file_for_a_tree)
{
	struct message m;
	char why[256];

	must(!decode(
		&m,
		"{" PUT ",\"children\":[{\"host\":\"n1\",\"address\":\"h:1\",\"children\":"
		"[{\"host\":\"n2\",\"address\":\"h:2\"}]},{\"host\":\"n3\",\"address\":\"h:3\"}]}",
		why));
	is_int(m.n_children, 2);
	is_str(m.children[1].address, "h:3");
	is_int(json_array_size(m.children[0].children), 1);
	is_int(json_array_size(m.children[0].hosts), 2);
	is_str(json_string_value(json_array_get(m.children[0].hosts, 1)), "n2");
	is_int(m.mtime_ns, -1);
	message_free(&m);
}

TAP_TEST(message_decode__refused)
{
	is_refused("{\"op\":\"run\",\"id\":0,\"argv\":[\"a\"]}", "id must be");
	is_refused("{\"op\":\"run\",\"id\":1,\"argv\":[]}", "argv must be");
	is_refused("{\"op\":\"run\",\"id\":1,\"argv\":[\"a\"],\"env\":[]}", "env must be");
	is_refused("{\"op\":\"run\",\"id\":1,\"argv\":[\"a\"],\"env\":{\"\":\"\"}}", "no name");
	is_refused("{\"op\":\"run\",\"id\":1,\"argv\":[\"a\"],\"env\":{\"A\":1}}", "A must be");
	is_refused("{\"op\":\"signal\",\"id\":1,\"signal\":0}", "signal must be");
	is_refused("{\"op\":\"out_room\",\"id\":1,\"bytes\":1048577}", "bytes must be");
	is_refused("{\"op\":\"get\",\"id\":1}", "path must be");
	is_refused("{" PUT ",\"children\":[{\"host\":\"a/b\",\"address\":\"h:1\"}]}",
		   "host must be");
	is_refused("{" PUT ",\"children\":[{\"host\":\"a\",\"address\":\"h\",\"children\":[3]}]}",
		   "host must be");
}

TAP_TEST(message_decode__nothing_we_know)
{
	struct message m;
	char why[256];

	is_int(decode(&m, "{\"op\":\"dance\",\"id\":1}", why), -ENOTSUP);
	ok(strstr(why, "dance") != NULL);
	message_free(&m);
}

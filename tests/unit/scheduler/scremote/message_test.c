// SPDX-License-Identifier: BSD-3-Clause
/* message_decode(): what scout may say, and the sentence about what it may not. */
#include "scheduler/scremote/message.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/link.h"
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

/* {"op": OP, "id": 1, FIELD: VALUE} with other fields in @more. */
static int decode_with(struct message *m, const char *op, const char *more, const char *field,
		       json_int_t value)
{
	char text[256], why[256];

	snprintf(text, sizeof(text), "{\"op\":\"%s\",\"id\":1%s,\"%s\":%lld}", op, more, field,
		 (long long)value);
	return decode(m, text, why);
}

static void has_bounds(const char *op, const char *more, const char *field, json_int_t least,
		       json_int_t most)
{
	struct message m;

	is_int(decode_with(&m, op, more, field, least), 0);
	message_free(&m);
	is_int(decode_with(&m, op, more, field, most), 0);
	message_free(&m);
	is_int(decode_with(&m, op, more, field, least - 1), -EINVAL);
	message_free(&m);
	if (most == INT64_MAX)
		return;
	is_int(decode_with(&m, op, more, field, most + 1), -EINVAL);
	message_free(&m);
}

#define PUT_MORE(fields) ",\"path\":\"a\",\"sha256\":\"" SHA256 "\"" fields

TAP_TEST(message_decode__bounds_of_numbers)
{
	has_bounds("out_room", "", "bytes", 1, LINK_FULL);
	has_bounds("in_room", "", "bytes", 1, LINK_FULL);
	has_bounds("signal", "", "signal", 1, NSIG - 1);
	has_bounds("put", PUT_MORE(",\"size\":0"), "mode", 0, 07777);
	has_bounds("put", PUT_MORE(",\"mode\":0"), "size", 0, INT64_MAX);
	has_bounds("put", PUT_MORE(",\"mode\":0,\"size\":0"), "mtime_ns", 0, INT64_MAX);
}

TAP_TEST(message_decode__the_id)
{
	static const char *const wrong[] = {"0", "-1", "1.5", "\"1\"", "null", "true"};
	struct message m;
	char text[64], why[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(text, sizeof(text), "{\"op\":\"ping\",\"id\":%s}", wrong[i]);
		is_refused(text, "id must be");
	}
	is_refused("{\"op\":\"ping\"}", "id must be");
	is_int(decode(&m, "{\"op\":\"ping\",\"id\":9223372036854775807}", why), 0);
	is_int(m.id, INT64_MAX);
	message_free(&m);
	/* The one that has none. */
	is_int(decode(&m, "{\"op\":\"door_wanted\"}", why), 0);
	is_int(m.id, 0);
	message_free(&m);
}

static int decode_path(size_t length)
{
	char *path = calloc(1, length + 1);
	json_t *head;
	struct message m;
	char why[256];
	int err;

	memset(path, 'a', length);
	head = json_pack("{s:s, s:i, s:s}", "op", "get", "id", 1, "path", path);
	err = message_decode(&m, "get", head, why, sizeof(why));
	if (!err)
		is_str(m.path, path);
	message_free(&m);
	json_decref(head);
	free(path);
	return err;
}

TAP_TEST(message_decode__a_path)
{
	is_int(decode_path(0), -EINVAL);
	is_int(decode_path(1), 0);
	is_int(decode_path(PATH_MAX - 1), 0);
	is_int(decode_path(PATH_MAX), -EINVAL);
	is_refused("{\"op\":\"get\",\"id\":1,\"path\":{\"hex\":\"6100\"}}", "path");
	is_refused("{\"op\":\"get\",\"id\":1,\"path\":{\"hex\":\"6\"}}", "path");
}

static void is_wrong_sum(const char *sum)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"op\":\"put\",\"id\":1,\"path\":\"a\",\"mode\":0,\"size\":0,\"sha256\":%s}",
		 sum);
	is_refused(text, "sha256 must be");
}

TAP_TEST(message_decode__a_sum)
{
	is_wrong_sum("\"\"");
	is_wrong_sum("7");
	is_wrong_sum("\"00\"");
	/* 63 and 65 digits, a capital letter, and one that is no digit. */
	is_wrong_sum("\"000000000000000000000000000000000000000000000000000000000000000\"");
	is_wrong_sum("\"00000000000000000000000000000000000000000000000000000000000000000\"");
	is_wrong_sum("\"000000000000000000000000000000000000000000000000000000000000000A\"");
	is_wrong_sum("\"000000000000000000000000000000000000000000000000000000000000000g\"");
}

/* A tree of one host below the other, @deep of them. */
static int decode_chain(int deep, char why[256])
{
	json_t *children = json_array(), *head;
	struct message m;
	int err;

	for (int i = 0; i < deep; i++)
		children = json_pack("[{s:s, s:s, s:o}]", "host", "n", "address", "n:1", "children",
				     children);
	head = json_pack("{s:s, s:i, s:s, s:i, s:i, s:s, s:o}", "op", "put", "id", 1, "path", "a",
			 "mode", 0, "size", 0, "sha256", SHA256, "children", children);
	err = message_decode(&m, "put", head, why, 256);
	if (!err && deep)
		is_int(json_array_size(m.children[0].hosts), deep);
	message_free(&m);
	json_decref(head);
	return err;
}

TAP_TEST(message_decode__how_deep_a_tree_may_be)
{
	char why[256];

	is_int(decode_chain(MESSAGE_TREE_DEPTH_MAX, why), 0);
	is_int(decode_chain(MESSAGE_TREE_DEPTH_MAX + 1, why), -EINVAL);
	ok(strstr(why, "deeper than 64") != NULL);
}

TAP_TEST(message_decode__how_many_hosts_a_tree_may_have)
{
	json_t *child = json_pack("{s:s, s:s}", "host", "n", "address", "n:1");
	json_t *top = json_pack("{s:s, s:s, s:[]}", "host", "n", "address", "n:1", "children");
	json_t *below = json_object_get(top, "children");
	json_t *head = json_pack("{s:s, s:i, s:s, s:i, s:i, s:s, s:[o]}", "op", "put", "id", 1,
				 "path", "a", "mode", 0, "size", 0, "sha256", SHA256, "children",
				 top);
	struct message m;
	char why[256];

	while (json_array_size(below) < MESSAGE_TREE_MAX - 1)
		json_array_append(below, child);
	is_int(message_decode(&m, "put", head, why, sizeof(why)), 0);
	message_free(&m);
	json_array_append(below, child);
	is_int(message_decode(&m, "put", head, why, sizeof(why)), -EINVAL);
	ok(strstr(why, "more than 65536 hosts") != NULL);
	message_free(&m);
	json_decref(child);
	json_decref(head);
}

TAP_TEST(message_decode__nothing_we_know)
{
	struct message m;
	char why[256];

	is_int(decode(&m, "{\"op\":\"dance\",\"id\":1}", why), -ENOTSUP);
	ok(strstr(why, "dance") != NULL);
	message_free(&m);
}

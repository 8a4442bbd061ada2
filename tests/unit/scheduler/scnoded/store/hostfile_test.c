// SPDX-License-Identifier: BSD-3-Clause
/* hostfile: what comes back from its JSON, and what is wrong in each field. */
#include "scheduler/scnoded/store/hostfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static char why[256];

static const char *const good =
	"{\"format\":1, \"job\":7, \"round\":3, \"index\":1, \"n_hosts\":2, \"taken\":1700000000,"
	" \"host\":\"h1\", \"kernel\":\"6.1.0\", \"criu\":\"4.1\", \"cpu_flags\":\"fpu sse2\","
	" \"order\":{\"id\":7},"
	" \"writables\":[{\"path\":\"/home/u/out\", \"device\":\"0000000000000801\","
	" \"inode\":\"fedcba9876543210\", \"size\":12}],"
	" \"files\":[{\"name\":\"pages-1.img\", \"size\":4096, \"crc\":4294967295},"
	" {\"name\":\"core-1.img\", \"size\":0, \"crc\":0}]}";

static json_t *load(const char *text)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

	if (!json)
		abort();
	return json;
}

TAP_TEST(hostfile_decode__all_fields)
{
	json_t *json = load(good);
	struct hostfile h;

	must(!hostfile_decode(&h, json, why, sizeof(why)));
	is_int(h.job, 7);
	is_int(h.round, 3);
	is_int(h.index, 1);
	is_int(h.n_hosts, 2);
	is_int(h.taken, 1700000000);
	is_str(h.host, "h1");
	is_str(h.kernel, "6.1.0");
	is_str(h.criu, "4.1");
	is_str(h.cpu_flags, "fpu sse2");
	is_int(json_integer_value(json_object_get(h.order, "id")), 7);
	is_int(h.n_writables, 1);
	is_str(h.writables[0].path, "/home/u/out");
	is_int(h.writables[0].device, 0x801);
	ok(h.writables[0].inode == 0xfedcba9876543210ull);
	is_int(h.writables[0].size, 12);
	is_int(h.n_files, 2);
	is_str(h.files[0].name, "pages-1.img");
	is_int(h.files[0].size, 4096);
	is_int(h.files[0].crc, UINT32_MAX);
	hostfile_fini(&h);
	json_decref(json);
}

TAP_TEST(hostfile_encode__and_back)
{
	json_t *json = load(good), *again;
	struct hostfile h;

	must(!hostfile_decode(&h, json, why, sizeof(why)));
	again = hostfile_encode(&h);
	ok(json_equal(json, again));
	hostfile_fini(&h);
	json_decref(json);
	json_decref(again);
}

/* A path of a job may have any bytes. */
TAP_TEST(hostfile_encode__a_path_that_is_no_text)
{
	char path[] = "/home/\xff\n";
	struct hostfile_writable writable = {.path = path, .device = 1, .inode = 2, .size = 3};
	struct hostfile h = {.job = 1,
			     .round = 1,
			     .n_hosts = 1,
			     .host = "h0",
			     .kernel = "6",
			     .criu = "4",
			     .cpu_flags = (char *)"",
			     .order = json_object(),
			     .writables = &writable,
			     .n_writables = 1};
	json_t *json = hostfile_encode(&h);
	struct hostfile again;

	okf(!hostfile_decode(&again, json, why, sizeof(why)), "%s", why);
	must(again.n_writables == 1);
	is_str(again.writables[0].path, path);
	is_int(again.n_files, 0);
	hostfile_fini(&again);
	json_decref(json);
	json_decref(h.order);
}

/* The field has this value instead; "" = it is missing. */
static void refuse(const char *field, const char *value)
{
	json_t *json = load(good);
	struct hostfile h;

	if (*value)
		json_object_set_new(json, field, load(value));
	else
		json_object_del(json, field);
	why[0] = 0;
	okf(hostfile_decode(&h, json, why, sizeof(why)) == -EPROTO, "%s: %s", field, value);
	okf(strstr(why, HOSTFILE_NAME) == why && strstr(why, field), "%s: %s", field, why);
	ok(!h.n_files && !h.files && !h.order && !h.cpu_flags);
	json_decref(json);
}

TAP_TEST(hostfile_decode__a_wrong_field)
{
	static const char *const wrong[][2] = {
		{"format", "2"},
		{"job", "0"},
		{"job", "-1"},
		{"job", "\"7\""},
		{"round", "0"},
		{"round", "1.5"},
		{"index", "2"},
		{"index", "-1"},
		{"n_hosts", "0"},
		{"n_hosts", "1000001"},
		{"taken", "-1"},
		{"host", "\"\""},
		{"host", "\"a/b\""},
		{"host", "7"},
		{"kernel", "\"\\n\""},
		{"criu", "\"\""},
		{"cpu_flags", "\"\\u001b\""},
		{"order", "[]"},
		{"writables", "7"},
		{"files", "{}"},
	};
	static const char *const needed[] = {"format", "job",       "round", "index",
					     "taken",  "n_hosts",   "host",  "kernel",
					     "criu",   "cpu_flags", "order"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refuse(wrong[i][0], wrong[i][1]);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		refuse(needed[i], "");
}

TAP_TEST(hostfile_decode__a_long_text)
{
	char value[HOSTFILE_TEXT_MAX + 3];

	memset(value, 'a', sizeof(value));
	value[0] = value[HOSTFILE_TEXT_MAX + 1] = '"';
	value[HOSTFILE_TEXT_MAX + 2] = 0;
	refuse("kernel", value);
}

static void refuse_element(const char *list, const char *element, const char *said)
{
	json_t *json = load(good);
	struct hostfile h;

	json_array_append_new(json_object_get(json, list), load(element));
	why[0] = 0;
	okf(hostfile_decode(&h, json, why, sizeof(why)) == -EPROTO, "%s", element);
	okf(strstr(why, said) != NULL, "%s: %s", element, why);
	ok(!h.n_files && !h.n_writables);
	json_decref(json);
}

TAP_TEST(hostfile_decode__a_wrong_file)
{
	static const char *const names[] = {"",      ".",    "..",       "/etc/passwd",
					    "../up", "a\\n", "host.json"};
	char element[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(element, sizeof(element), "{\"name\":\"%s\", \"size\":0, \"crc\":0}",
			 names[i]);
		refuse_element("files", element, "name");
	}
	refuse_element("files", "7", "name");
	refuse_element("files", "{\"name\":\"a\", \"size\":-1, \"crc\":0}", "size");
	refuse_element("files", "{\"name\":\"a\", \"size\":0, \"crc\":4294967296}", "crc");
	refuse_element("files", "{\"name\":\"core-1.img\", \"size\":0, \"crc\":0}", "twice");
}

TAP_TEST(hostfile_decode__a_wrong_writable)
{
#define IDS "\"device\":\"0000000000000801\", \"inode\":\"0000000000000001\""
	refuse_element("writables", "{\"path\":\"out\", " IDS ", \"size\":0}", "path");
	refuse_element("writables", "{\"path\":\"/out\", " IDS ", \"size\":-1}", "size");
	refuse_element("writables", "{\"path\":\"/out\", \"device\":7, \"size\":0}", "device");
	refuse_element("writables",
		       "{\"path\":\"/out\", \"device\":\"0000000000000801\", \"size\":0}", "inode");
	refuse_element("writables",
		       "{\"path\":\"/b\", \"device\":\"0000000000000801\","
		       " \"inode\":\"fedcba9876543210\", \"size\":0}",
		       "twice");
}

// SPDX-License-Identifier: BSD-3-Clause
/* hostfile: there and back, and each field that may be wrong. */
#include "scheduler/scnoded/store/hostfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static char host[] = "n1", kernel[] = "6.12.0-1", version[] = "4.2", flags[] = "fpu sse2",
	    file_a[] = "core-2.img", file_b[] = "pages-1.img", path[] = "/home/ann/out\n.txt";

static json_t *whole(void)
{
	struct hostfile_file files[] = {{file_b, 1ull << 40, 0xffffffff}, {file_a, 0, 0}};
	struct hostfile_writable writables[] = {{path, ~0ull, 5, 1000}};
	json_t *order = json_pack("{s:i}", "id", 7), *json;
	struct hostfile h = {.job = 7,
			     .round = 3,
			     .index = 1,
			     .n_hosts = 2,
			     .taken = 1796000000,
			     .host = host,
			     .kernel = kernel,
			     .criu = version,
			     .cpu_flags = flags,
			     .order = order,
			     .writables = writables,
			     .n_writables = 1,
			     .files = files,
			     .n_files = 2};

	json = hostfile_encode(&h);
	json_decref(order);
	ok(json != NULL);
	return json;
}

TAP_TEST(hostfile__there_and_back)
{
	struct hostfile h;
	json_t *json = whole();
	char why[200];

	is_int(hostfile_decode(&h, json, why, sizeof(why)), 0);
	is_int(h.job, 7);
	is_int(h.round, 3);
	is_int(h.index, 1);
	is_int(h.n_hosts, 2);
	is_int(h.taken, 1796000000);
	is_str(h.host, host);
	is_str(h.kernel, kernel);
	is_str(h.criu, version);
	is_str(h.cpu_flags, flags);
	is_int(json_integer_value(json_object_get(h.order, "id")), 7);
	is_int(h.n_writables, 1);
	is_str(h.writables[0].path, path);
	ok(h.writables[0].device == ~0ull && h.writables[0].inode == 5);
	is_int(h.writables[0].size, 1000);
	/* In the order of their names. */
	is_int(h.n_files, 2);
	is_str(h.files[0].name, file_a);
	is_str(h.files[1].name, file_b);
	ok(h.files[1].size == 1ull << 40 && h.files[1].crc == 0xffffffff);
	hostfile_fini(&h);
	json_decref(json);
}

/* @value: JSON in the place of a field; NULL: the field is missing. */
static void refuses(const char *field, const char *value)
{
	struct hostfile h;
	json_t *json = whole();
	char why[200] = "";

	if (value)
		json_object_set_new(json, field, json_loads(value, JSON_DECODE_ANY, NULL));
	else
		json_object_del(json, field);
	okf(hostfile_decode(&h, json, why, sizeof(why)) == -EINVAL, "%s: %s", field,
	    value ? value : "missing");
	ok(*why != 0);
	ok(!h.files && !h.writables && !h.order && !h.host);
	json_decref(json);
}

TAP_TEST(hostfile_decode__wrong_fields)
{
	static const char *const fields[] = {"format",  "job",   "round",    "index",
					     "n_hosts", "taken", "host",     "kernel",
					     "criu",    "order", "cpu_flags"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		refuses(fields[i], NULL);
		refuses(fields[i], "[]");
		refuses(fields[i], "-1");
		refuses(fields[i], "null");
	}
	refuses("format", "2");
	refuses("index", "2"); /* of 2 hosts */
	refuses("index", "65536");
	refuses("host", "\"a/b\"");
	refuses("host", "\"\"");
	refuses("criu", "\"4 2\"");
	refuses("kernel", "\"a\\nb\"");
	refuses("order", "\"text\"");
}

TAP_TEST(hostfile_decode__wrong_lists)
{
	refuses("files", "7");
	refuses("files", "[7]");
	refuses("files", "[{\"name\": \"a/b\", \"size\": 1, \"crc\": 1}]");
	refuses("files", "[{\"name\": \"..\", \"size\": 1, \"crc\": 1}]");
	refuses("files", "[{\"name\": \".\", \"size\": 1, \"crc\": 1}]");
	refuses("files", "[{\"name\": \"a\", \"size\": -1, \"crc\": 1}]");
	refuses("files", "[{\"name\": \"a\", \"size\": 1, \"crc\": 4294967296}]");
	refuses("files", "[{\"name\": \"a\", \"size\": 1, \"crc\": 1},"
			 " {\"name\": \"b\", \"size\": 1, \"crc\": 1},"
			 " {\"name\": \"a\", \"size\": 1, \"crc\": 1}]");
	refuses("writables", "[{\"path\": \"relative\", \"device\": \"1\", \"inode\": \"1\","
			     " \"size\": 1}]");
	refuses("writables", "[{\"path\": \"/a\", \"device\": 1, \"inode\": \"1\", \"size\": 1}]");
	refuses("writables", "{}");
}

TAP_TEST(hostfile_decode__no_object)
{
	struct hostfile h;
	char why[200];

	is_int(hostfile_decode(&h, NULL, why, sizeof(why)), -EINVAL);
	hostfile_fini(&h);
}

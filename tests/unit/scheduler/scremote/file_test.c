// SPDX-License-Identifier: BSD-3-Clause
/*
 * Files through one agent: put and got, and whatever fails leaves nothing. Trees of hosts:
 * tests/system/remote-files.t.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scremote/fake_scout.h"

/* sha256sum(1) says so. */
#define TEXT "hello\n"
#define TEXT_SHA256 "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define MTIME_NS 1000000007000000005
#define LITTLE 5 /* bytes: less than the agent sends at once */

/* A directory and an agent. */
struct room {
	struct scout scout;
	char directory[64], path[128];
};

static void setup(struct room *room)
{
	snprintf(room->directory, sizeof(room->directory), "/tmp/file_test.XXXXXX");
	ok(mkdtemp(room->directory) != NULL);
	snprintf(room->path, sizeof(room->path), "%s/there", room->directory);
	scout_open(&room->scout);
}

static void teardown(struct room *room)
{
	scout_close(&room->scout);
	unlink(room->path);
	is_int(rmdir(room->directory), 0);
}

static void say_put(struct room *room, size_t size, const char *sha256, json_t *more)
{
	json_t *head = json_pack("{s:s, s:i, s:s, s:i, s:I, s:s}", "op", OP_PUT, "id", 1, "path",
				 room->path, "mode", 0640, "size", (json_int_t)size, "sha256",
				 sha256);

	if (more)
		json_object_update(head, more);
	json_decref(more);
	scout_say(&room->scout, head, NULL, 0);
}

static void say_data(struct room *room, const char *bytes, size_t size)
{
	scout_say(&room->scout, json_pack("{s:s, s:i}", "op", OP_DATA, "id", 1), bytes, size);
}

/* The first that is not about room. */
static const char *hear(struct room *room)
{
	const char *op;

	do
		op = scout_hear(&room->scout, SCOUT_HEAR_MS);
	while (!strcmp(op, OP_IN_ROOM));
	return op;
}

static void put_text(struct room *room, json_t *more)
{
	say_put(room, strlen(TEXT), TEXT_SHA256, more);
	say_data(room, TEXT, strlen(TEXT));
	say_data(room, NULL, 0);
}

static void is_failed(struct room *room, const char *error)
{
	is_str(hear(room), OP_FAILED);
	is_str(scout_text(&room->scout, "error"), error);
	okf(strchr(scout_text(&room->scout, "text"), ' ') != NULL, "a sentence");
}

static void holds(const struct room *room, const char *want)
{
	char bytes[64] = "";
	FILE *file = fopen(room->path, "re");

	must(file != NULL);
	bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = 0;
	fclose(file);
	is_str(bytes, want);
}

TAP_TEST(put__with_mode_and_time)
{
	struct room room;
	struct stat st;

	setup(&room);
	put_text(&room, json_pack("{s:I}", "mtime_ns", (json_int_t)MTIME_NS));
	is_str(hear(&room), OP_FILE_DONE);
	is_str(scout_text(&room.scout, "sha256"), TEXT_SHA256);
	must(!stat(room.path, &st));
	is_int(st.st_mode, S_IFREG | 0640);
	is_int(st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, MTIME_NS);
	holds(&room, TEXT);
	is_int(names_in(room.directory), 1);
	teardown(&room);
}

TAP_TEST(put__in_the_place_of_another)
{
	struct room room;

	setup(&room);
	put_text(&room, NULL);
	is_str(hear(&room), OP_FILE_DONE);
	say_put(&room, 0, EMPTY_SHA256, NULL);
	say_data(&room, NULL, 0);
	is_str(hear(&room), OP_FILE_DONE);
	holds(&room, "");
	teardown(&room);
}

TAP_TEST(put__takes_no_place_of_a_pipe_or_device)
{
	struct room room;
	struct stat st;

	setup(&room);
	must(!mkfifo(room.path, 0600));
	put_text(&room, NULL);
	is_failed(&room, "EEXIST");
	ok(!lstat(room.path, &st) && S_ISFIFO(st.st_mode));
	unlink(room.path);
	must(!symlink("/dev/null", room.path));
	put_text(&room, NULL);
	is_failed(&room, "EEXIST");
	ok(!lstat(room.path, &st) && S_ISLNK(st.st_mode));
	is_int(names_in(room.directory), 1);
	teardown(&room);
}

TAP_TEST(put__fails_and_leaves_nothing)
{
	struct room room;

	setup(&room);
	put_text(&room, json_pack("{s:s}", "path", "/no/such/directory"));
	is_failed(&room, "ENOENT");
	put_text(&room, json_pack("{s:s}", "path", room.directory));
	is_failed(&room, "EISDIR");
	put_text(&room, json_pack("{s:s}", "sha256", EMPTY_SHA256));
	is_failed(&room, "EBADMSG");
	put_text(&room, json_pack("{s:i}", "size", 7));
	is_failed(&room, "EPIPE");
	put_text(&room, json_pack("{s:i}", "size", 5));
	is_failed(&room, "EPIPE");
	put_text(&room, json_pack("{s:s}", "sha256", "short"));
	is_failed(&room, "EINVAL");
	is_int(names_in(room.directory), 0);
	/* The connection is as good as before. */
	put_text(&room, NULL);
	is_str(hear(&room), OP_FILE_DONE);
	teardown(&room);
}

TAP_TEST(put__no_room_on_the_way)
{
	static const char bytes[65536];
	struct rlimit before, few = {.rlim_max = RLIM_INFINITY};
	struct room room;

	/*
	 * As ENOSPC would come: of write(2), when some bytes are written; a file system that tells
	 * at once says it then.
	 */
	getrlimit(RLIMIT_FSIZE, &before);
	few = before;
	few.rlim_cur = 100000;
	must(!setrlimit(RLIMIT_FSIZE, &few));
	setup(&room);
	setrlimit(RLIMIT_FSIZE, &before);
	say_put(&room, 4 * sizeof(bytes), EMPTY_SHA256, NULL);
	for (int i = 0; i < 4; i++)
		say_data(&room, bytes, sizeof(bytes));
	say_data(&room, NULL, 0);
	is_failed(&room, "EFBIG");
	is_int(names_in(room.directory), 0);
	teardown(&room);
}

TAP_TEST(put__room_for_all_that_comes)
{
	static const char bytes[65536];
	struct room room;
	size_t given = 0;

	setup(&room);
	say_put(&room, 1, EMPTY_SHA256, json_pack("{s:s}", "path", "/no/such/directory"));
	for (size_t i = 0; i < LINK_FULL / sizeof(bytes); i++)
		say_data(&room, bytes, sizeof(bytes));
	while (given < LINK_FULL && *scout_hear(&room.scout, SCOUT_HEAR_MS))
		given += (size_t)scout_number(&room.scout, "bytes");
	is_int(given, LINK_FULL);
	teardown(&room);
}

TAP_TEST(put__the_agent_is_killed)
{
	struct room room;

	setup(&room);
	say_put(&room, strlen(TEXT), TEXT_SHA256, NULL);
	say_data(&room, TEXT, 2);
	/* Until the temporary file is there, or gone. */
	ok(has_names_soon(room.directory, 1));
	kill(room.scout.agent, SIGKILL);
	ok(has_names_soon(room.directory, 0));
	teardown(&room);
}

TAP_TEST(put__a_child_that_is_not_there)
{
	struct room room;
	bool is_cut = false, is_done = false;

	setup(&room);
	put_text(&room,
		 json_pack("{s:[{s:s, s:s, s:[{s:s, s:s}]}]}", "children", "host", "n1", "address",
			   "127.0.0.1:1", "children", "host", "n2", "address", "127.0.0.1:2"));
	for (int i = 0; i < 2; i++) {
		const char *op = hear(&room);

		is_done |= !strcmp(op, OP_FILE_DONE);
		if (!strcmp(op, OP_CUT)) {
			json_t *want = json_pack("[s, s]", "n1", "n2");

			is_cut = true;
			ok(json_equal(json_object_get(room.scout.head, "hosts"), want));
			json_decref(want);
		}
	}
	ok(is_done && is_cut);
	holds(&room, TEXT);
	teardown(&room);
}

/* ---- the other way ---- */

TAP_TEST(get__what_was_put)
{
	struct room room;

	setup(&room);
	put_text(&room, json_pack("{s:I}", "mtime_ns", (json_int_t)MTIME_NS));
	is_str(hear(&room), OP_FILE_DONE);
	scout_say(&room.scout,
		  json_pack("{s:s, s:i, s:s}", "op", OP_GET, "id", 2, "path", room.path), NULL, 0);
	is_str(hear(&room), OP_FILE);
	is_int(scout_number(&room.scout, "size"), strlen(TEXT));
	is_int(scout_number(&room.scout, "mode"), 0640);
	is_int(scout_number(&room.scout, "mtime_ns"), MTIME_NS);
	is_str(hear(&room), OP_DATA);
	is_int(room.scout.body_size, strlen(TEXT));
	is_mem(room.scout.body, TEXT, strlen(TEXT));
	is_str(hear(&room), OP_DATA);
	is_int(room.scout.body_size, 0);
	is_str(hear(&room), OP_FILE_DONE);
	is_str(scout_text(&room.scout, "sha256"), TEXT_SHA256);
	teardown(&room);
}

static void is_not_got(struct room *room, const char *path, const char *error)
{
	scout_say(&room->scout, json_pack("{s:s, s:i, s:s}", "op", OP_GET, "id", 2, "path", path),
		  NULL, 0);
	is_failed(room, error);
}

TAP_TEST(get__what_cannot_be)
{
	struct room room;

	setup(&room);
	is_not_got(&room, room.path, "ENOENT");
	is_not_got(&room, room.directory, "EISDIR");
	is_not_got(&room, "/dev/null", "EINVAL");
	is_not_got(&room, "", "EINVAL");
	is_int(mkfifo(room.path, 0600), 0);
	is_not_got(&room, room.path, "EINVAL");
	teardown(&room);
}

static void give_room(struct room *room, int bytes)
{
	scout_say(&room->scout,
		  json_pack("{s:s, s:i, s:i}", "op", OP_OUT_ROOM, "id", 2, "bytes", bytes), NULL,
		  0);
}

/* The agent's only child. */
static pid_t reader_of(const struct room *room)
{
	char path[64];
	pid_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", room->scout.agent,
		 room->scout.agent);
	file = fopen(path, "re");
	ok(file && fscanf(file, "%d", &pid) == 1);
	if (file)
		fclose(file);
	return pid;
}

/*
 * The agent answers, and has nothing else to say. The loop of the agent may find more together with
 * the first ping, and tell it after the first pong; but then it comes before the second one.
 */
static void is_awake(struct room *room)
{
	for (int i = 0; i < 2; i++) {
		scout_say(&room->scout, json_pack("{s:s, s:i}", "op", OP_PING, "id", 3), NULL, 0);
		is_str(hear(room), OP_PONG);
	}
}

TAP_TEST(get__as_there_is_room)
{
	struct room room;
	size_t come = 0;
	pid_t reader;

	setup(&room);
	must(!truncate(room.path, 0) || fclose(fopen(room.path, "we")) == 0);
	must(!truncate(room.path, 2 * LINK_FULL));
	scout_say(&room.scout,
		  json_pack("{s:s, s:i, s:s}", "op", OP_GET, "id", 2, "path", room.path), NULL, 0);
	is_str(hear(&room), OP_FILE);
	while (come < LINK_FULL && !strcmp(hear(&room), OP_DATA))
		come += room.scout.body_size;
	is_int(come, LINK_FULL);
	reader = reader_of(&room);
	/* A message of its own size shows that none came before the room for it. */
	give_room(&room, LITTLE);
	is_str(hear(&room), OP_DATA);
	is_int(room.scout.body_size, LITTLE);
	come += room.scout.body_size;
	give_room(&room, LINK_FULL - LITTLE);
	while (come < 2 * LINK_FULL && !strcmp(hear(&room), OP_DATA))
		come += room.scout.body_size;
	is_int(come, 2 * LINK_FULL);
	/* That was all: its end waits for room too. */
	ok(is_gone(reader));
	is_awake(&room);
	give_room(&room, 1);
	is_str(hear(&room), OP_DATA);
	is_int(room.scout.body_size, 0);
	is_str(hear(&room), OP_FILE_DONE);
	teardown(&room);
}

TAP_TEST(door_wanted__a_port)
{
	struct room room;
	int64_t port;

	setup(&room);
	scout_say(&room.scout, json_pack("{s:s}", "op", OP_DOOR_WANTED), NULL, 0);
	is_str(hear(&room), OP_DOOR_OPEN);
	port = scout_number(&room.scout, "port");
	ok(port > 0 && port < 65536);
	scout_say(&room.scout, json_pack("{s:s}", "op", OP_DOOR_WANTED), NULL, 0);
	is_str(hear(&room), OP_DOOR_OPEN);
	is_int(scout_number(&room.scout, "port"), port);
	teardown(&room);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/store/stored.h"

/* Writes over what is on disk. */
static void change(const char *below, const char *text)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", stored.directory, below);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void says(char *text, const char *part)
{
	const char *said = stored_text(text);

	okf(strstr(said, part) != NULL, "\"%s\" in \"%s\"", part, said);
}

static void is_damaged(const struct store_place *place, const char *part)
{
	struct hostfile h;

	says(store_verify(place, &h), part);
	hostfile_fini(&h);
}

TAP_TEST(store__from_begin_to_commit)
{
	struct store_place place;
	struct stat st;

	stored_open();
	place = stored_place(1, 0);
	ok(stored_seal(&place, "n0"));
	is_int(stat(stored.directory, &st), 0);
	is_int(st.st_mode & 07777, 0700);
	ok(stored_has("7/1.new/0/pages-1.img"));
	ok(!stored_is_whole(&place));
	is_str(stored_text(store_commit(&place, 1)), "");
	ok(stored_has("7/1/0/host.json"));
	ok(!stored_has("7/1.new"));
	ok(stored_is_whole(&place));
	/* Again, as after an answer that was lost. */
	is_str(stored_text(store_commit(&place, 1)), "");
	ok(stored_is_whole(&place));
	says(store_begin(&place, "n0", 0), "committed already");
	stored_close();
}

TAP_TEST(store_commit__older_ones)
{
	struct store_place places[5];

	stored_open();
	for (uint64_t round = 1; round < 5; round++) {
		places[round] = stored_place(round, 0);
		ok(stored_commit(&places[round], "n0", round > 1 ? round - 1 : 1));
	}
	ok(!stored_has("7/1") && !stored_has("7/2"));
	ok(stored_is_whole(&places[3]) && stored_is_whole(&places[4]));
	stored_close();
}

/* One that failed half way is not in the way of the next. */
TAP_TEST(store__after_one_that_failed)
{
	struct store_place first, again;

	stored_open();
	first = stored_place(1, 0);
	again = stored_place(2, 0);
	is_str(stored_text(store_begin(&first, "n0", 0)), "");
	stored_write(&first, "pages-1.img", "half");
	is_str(stored_text(store_begin(&first, "n0", 0)), "");
	ok(!stored_has("7/1.new/0/pages-1.img"));
	ok(stored_commit(&again, "n0", 1));
	/* What is older and not committed goes with it. */
	ok(!stored_has("7/1.new"));
	stored_close();
}

TAP_TEST(store_abandon__one_host_of_two)
{
	struct store_place place, other;

	stored_open();
	place = stored_place(1, 0);
	other = stored_place(1, 1);
	is_str(stored_text(store_abandon(&place)), "");
	ok(stored_seal(&place, "n0"));
	ok(stored_seal(&other, "n1"));
	is_str(stored_text(store_abandon(&place)), "");
	ok(!stored_has("7/1.new/0") && stored_has("7/1.new/1"));
	is_str(stored_text(store_abandon(&other)), "");
	ok(!stored_has("7") && stored_has(""));
	stored_close();
}

/* Hosts that share a directory commit at the same time. */
TAP_TEST(store_commit__two_hosts_at_once)
{
	struct store_place places[2];
	int status;

	stored_open();
	for (uint32_t i = 0; i < 2; i++) {
		places[i] = stored_place(1, i);
		ok(stored_commit(&places[i], i ? "n1" : "n0", 1));
	}
	for (uint64_t round = 2; round < 12; round++) {
		for (uint32_t i = 0; i < 2; i++) {
			places[i] = stored_place(round, i);
			if (!fork())
				_exit(!stored_commit(&places[i], i ? "n1" : "n0", round));
		}
		for (int i = 0; i < 2; i++) {
			ok(wait(&status) > 0);
			is_int(status, 0);
		}
		ok(stored_is_whole(&places[0]) && stored_is_whole(&places[1]));
	}
	ok(!stored_has("7/10") && !stored_has("7/11.new"));
	stored_close();
}

TAP_TEST(store_verify__damage)
{
	struct store_place place, none;

	stored_open();
	place = stored_place(1, 0);
	none = stored_place(9, 0);
	ok(stored_commit(&place, "n0", 1));
	is_damaged(&none, "they are not there");
	/* A restore writes its log beside them. */
	change("7/1/0/restore.log", "all is well");
	ok(stored_is_whole(&place));
	change("7/1/0/pages-1.img", "round 2");
	is_damaged(&place, "pages-1.img is damaged: its checksum differs");
	change("7/1/0/pages-1.img", "round 1 ");
	is_damaged(&place, "pages-1.img is damaged: its size differs");
	change("7/1/0/host.json", "{");
	is_damaged(&place, "restart from an older checkpoint");
	change("7/1/0/host.json", "");
	is_damaged(&place, "restart from an older checkpoint");
	stored_close();
}

TAP_TEST(store_verify__of_another_place)
{
	struct store_place place, other;
	char from[200], to[200];

	stored_open();
	place = stored_place(1, 0);
	other = stored_place(1, 1);
	ok(stored_commit(&place, "n0", 1));
	snprintf(from, sizeof(from), "%s/7/1/0", stored.directory);
	snprintf(to, sizeof(to), "%s/7/1/1", stored.directory);
	is_int(rename(from, to), 0);
	is_damaged(&other, "host.json is of another place");
	stored_close();
}

/* Nothing is read or removed outside. */
TAP_TEST(store__links)
{
	struct store_place place;
	char outside[200], link[200];

	stored_open();
	place = stored_place(1, 0);
	snprintf(outside, sizeof(outside), "%s.outside", stored.directory);
	ok(!mkdir(outside, 0700));
	ok(stored_commit(&place, "n0", 1));
	snprintf(link, sizeof(link), "%s/7/1/0/core-2.img", stored.directory);
	ok(!symlink("/etc/passwd", link));
	snprintf(link, sizeof(link), "%s/7/2.new", stored.directory);
	ok(!symlink(outside, link));
	place = stored_place(2, 0);
	says(store_begin(&place, "n0", 0), "their directory can't be made");
	is_str(stored_text(store_remove(stored.directory, STORED_JOB, "n0")), "");
	ok(!stored_has("7/1"));
	ok(!access("/etc/passwd", F_OK) && !access(outside, F_OK));
	stored_close();
}

TAP_TEST(store_seal__what_is_no_file)
{
	struct store_place place;
	char path[200];
	struct hostfile about = {.order = json_object()};
	uint64_t bytes;

	stored_open();
	place = stored_place(1, 0);
	is_str(stored_text(store_begin(&place, "n0", 0)), "");
	snprintf(path, sizeof(path), "%s/7/1.new/0/pipe.img", stored.directory);
	ok(!mkfifo(path, 0600));
	says(store_seal(&place, &about, &bytes), "they can't be brought to disk");
	hostfile_fini(&about);
	stored_close();
}

TAP_TEST(store_begin__no_room)
{
	struct store_place place;

	stored_open();
	place = stored_place(1, 0);
	says(store_begin(&place, "n0", 1ull << 60), "make room on that file system");
	ok(!stored_has("7"));
	stored_close();
}

TAP_TEST(store_begin__a_directory_of_everybody)
{
	struct store_place place;

	stored_open();
	place = stored_place(1, 0);
	ok(!mkdir(stored.directory, 0700) && !chmod(stored.directory, 0777));
	says(store_begin(&place, "n0", 0), "--checkpoints of scnoded");
	ok(!stored_has("7"));
	stored_close();
}

/* What the dump has written takes all room, and host.json finds none. */
TAP_TEST(store_seal__disk_is_full)
{
	struct hostfile about;
	struct store_place place;
	char block[4096] = "";
	uint64_t bytes;
	int directory, fd;

	if (geteuid()) {
		tap_skip("needs root, to mount");
		return;
	}
	stored_open();
	ok(!mkdir(stored.directory, 0700));
	if (mount("none", stored.directory, "tmpfs", 0, "size=64k,mode=0700")) {
		tap_skip("this machine does not allow to mount");
		stored_close();
		return;
	}
	place = stored_place(1, 0);
	is_str(stored_text(store_begin(&place, "n0", 0)), "");
	about = stored_about(&place, "n0");
	directory = store_open(&place, false);
	fd = openat(directory, "pages-1.img", O_WRONLY | O_CREAT, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	close(fd);
	close(directory);
	says(store_seal(&place, &about, &bytes), "No space left on device; make room");
	ok(!stored_has("7/1.new/0/host.json"));
	is_str(stored_text(store_abandon(&place)), "");
	ok(!stored_has("7"));
	hostfile_fini(&about);
	ok(!umount(stored.directory));
	stored_close();
}

TAP_TEST(store_remove__and_clean__of_one_host)
{
	struct store_place mine, theirs;

	stored_open();
	store_clean(stored.directory, "n0");
	mine = stored_place(1, 0);
	theirs = stored_place(1, 1);
	ok(stored_commit(&mine, "n0", 1) && stored_commit(&theirs, "n1", 1));
	mine = stored_place(2, 0);
	theirs = stored_place(2, 1);
	ok(stored_seal(&mine, "n0") && stored_seal(&theirs, "n1"));
	store_clean(stored.directory, "n0");
	ok(!stored_has("7/2.new/0") && stored_has("7/2.new/1"));
	ok(stored_has("7/1/0") && stored_has("7/1/1"));
	is_str(stored_text(store_remove(stored.directory, STORED_JOB, "n1")), "");
	ok(!stored_has("7/2.new") && !stored_has("7/1/1") && stored_has("7/1/0"));
	is_str(stored_text(store_remove(stored.directory, STORED_JOB, "n0")), "");
	ok(!stored_has("7"));
	is_str(stored_text(store_remove(stored.directory, STORED_JOB, "n0")), "");
	stored_close();
}

// SPDX-License-Identifier: BSD-3-Clause
/* store: each step of a checkpoint on disk, and what is left when one is not taken. */
#include "scheduler/scnoded/store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/store/stored.h"

TAP_TEST(store_begin__makes_a_place_for_root_alone)
{
	struct store_place place = stored_place(1, 0);
	struct stat st;
	int fd;

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	ok(!stat(stored, &st) && (st.st_mode & 07777) == 0700);
	ok(!stat(stored_path("7/1.new/0"), &st) && (st.st_mode & 07777) == 0700);
	ok(!stat(stored_path("7/1.new/0/writer"), &st) && st.st_size == 2);
	is_int(store_open(&place, true), -ENOENT);
	fd = store_open(&place, false);
	ok(fd >= 0);
	close(fd);
	stored_end();
}

TAP_TEST(store_begin__what_an_earlier_dump_left)
{
	struct store_place place = stored_place(1, 0);

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	ok(stored_dump(&place));
	ok(!mkdir(stored_path("7/1.new/0.h0"), 0700));
	FINE(store_begin(&place, "h0", 1));
	ok(!stored_has("7/1.new/0/pages-1.img") && !stored_has("7/1.new/0.h0"));
	ok(stored_has("7/1.new/0/writer"));
	stored_end();
}

TAP_TEST(store_begin__a_directory_that_others_may_enter)
{
	struct store_place place = stored_place(1, 0), by_link = place, nowhere = place;
	char link[96], missing[96];

	stored_begin();
	must(!mkdir(stored, 0700) && !chmod(stored, 0750));
	WRONG(store_begin(&place, "h0", 1), "host h0: ", stored, "chmod 700");
	ok(!stored_has("7"));
	ok(!chmod(stored, 0700));
	snprintf(link, sizeof(link), "%s/link", stored_base);
	ok(!symlink(stored, link));
	by_link.directory = link;
	WRONG(store_begin(&by_link, "h0", 1), "symbolic link", "name the directory itself");
	snprintf(missing, sizeof(missing), "%s/a/b", stored_base);
	nowhere.directory = missing;
	WRONG(store_begin(&nowhere, "h0", 1), "cannot be made", missing, "mounted");
	stored_end();
}

TAP_TEST(store_begin__a_directory_of_somebody_else)
{
	struct store_place place = stored_place(1, 0);

	stored_begin();
	must(!mkdir(stored, 0700));
	if (geteuid())
		tap_skip("needs root");
	else if (ok(!chown(stored, 70001, 70001)))
		WRONG(store_begin(&place, "h0", 1), stored, "root alone");
	stored_end();
}

TAP_TEST(store_begin__no_room)
{
	struct store_place place = stored_place(1, 0);

	stored_begin();
	WRONG(store_begin(&place, "h0", UINT64_MAX), "host h0", "need 18446744073709551615 bytes",
	      "are missing", "make room", stored);
	ok(!stored_has("7"));
	stored_end();
}

TAP_TEST(store_begin__a_number_that_was_there)
{
	struct store_place place = stored_place(1, 0);

	stored_begin();
	stored_commit(&place, "h0", 0);
	WRONG(store_begin(&place, "h0", 1), "already", "move directory 7 away");
	ok(stored_has("7/1/0/host.json"));
	stored_end();
}

TAP_TEST(store_seal__sizes_and_checksums)
{
	struct store_place place = stored_place(3, 1);
	struct hostfile about = stored_about("h1"), h;
	uint64_t bytes = 0;

	stored_begin();
	FINE(store_begin(&place, "h1", 1));
	ok(stored_dump(&place));
	about.index = 0;
	FINE(store_seal(&place, &about, &bytes));
	is_int(bytes, 14);
	ok(!stored_has("7/3.new/1/host.json.new"));
	FINE(store_commit(&place, 0));
	FINE(store_verify(&place, &h));
	is_int(h.job, JOB);
	is_int(h.round, 3);
	is_int(h.index, 1);
	is_str(h.host, "h1");
	must(h.n_files == 3);
	is_str(h.files[2].name, "pages-1.img");
	is_int(h.files[2].size, 9);
	is_int(h.files[2].crc, 0xe3069283); /* RFC 3720's "123456789" */
	is_str(h.files[0].name, "core-1.img");
	is_int(h.files[0].crc, 0);
	hostfile_fini(&h);
	json_decref(about.order);
	stored_end();
}

TAP_TEST(store_seal__what_is_no_file)
{
	struct store_place place = stored_place(1, 0);
	struct hostfile about = stored_about("h0");
	uint64_t bytes = 4711;

	stored_begin();
	WRONG(store_seal(&place, &about, &bytes), "host h0", "checkpoint 1 of job 7", stored);
	FINE(store_begin(&place, "h0", 1));
	ok(!symlink("/etc/passwd", stored_path("7/1.new/0/link")));
	WRONG(store_seal(&place, &about, &bytes), "link is no regular file", "remove it");
	ok(!unlink(stored_path("7/1.new/0/link")));
	ok(!mkdir(stored_path("7/1.new/0/folder"), 0700));
	WRONG(store_seal(&place, &about, &bytes), "folder is no regular file");
	ok(!rmdir(stored_path("7/1.new/0/folder")));
	ok(!mkfifo(stored_path("7/1.new/0/fifo"), 0600));
	WRONG(store_seal(&place, &about, &bytes), "fifo is no regular file");
	ok(!stored_has("7/1.new/0/host.json"));
	is_int(bytes, 4711);
	json_decref(about.order);
	stored_end();
}

TAP_TEST(store_seal__what_cannot_be_read_again)
{
	struct store_place place = stored_place(1, 2);
	struct hostfile about = stored_about("h0");
	uint64_t bytes;

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	WRONG(store_seal(&place, &about, &bytes), "cannot be described", "index");
	ok(!stored_has("7/1.new/2/host.json"));
	json_decref(about.order);
	stored_end();
}

TAP_TEST(store_commit__drops_older_rounds)
{
	struct store_place place;

	stored_begin();
	for (uint64_t round = 1; round <= 4; round++) {
		place = stored_place(round, 0);
		stored_commit(&place, "h0", round - 1);
	}
	ok(!stored_has("7/1") && !stored_has("7/2") && !stored_has("7/4.new"));
	ok(stored_has("7/3/0/host.json") && stored_has("7/4/0/host.json"));
	FINE(store_commit(&place, 3)); /* once more */
	FINE(store_commit(&place, UINT64_MAX));
	ok(!stored_has("7/3") && stored_has("7/4/0/host.json"));
	stored_end();
}

/* After a restart on other hosts the order has them at other places. */
TAP_TEST(store_commit__when_hosts_have_changed_places)
{
	struct store_place old[] = {stored_place(1, 0), stored_place(1, 1)}, fresh,
			   not_kept = stored_place(2, 1);

	stored_begin();
	stored_commit(&old[0], "h0", 0);
	stored_commit(&old[1], "h1", 0);
	FINE(stored_seal(&not_kept, "h1"));
	fresh = stored_place(3, 0);
	stored_commit(&fresh, "h1", 3);
	ok(!stored_has("7/1") && !stored_has("7/2.new") && stored_has("7/3/0/host.json"));
	stored_end();
}

TAP_TEST(store_commit__what_is_not_sealed)
{
	struct store_place place = stored_place(1, 0);

	stored_begin();
	WRONG(store_commit(&place, 0), stored);
	FINE(store_begin(&place, "h0", 1));
	WRONG(store_commit(&place, 0), "no images of host 0", "host.json", "another checkpoint");
	ok(!stored_has("7/1"));
	ok(stored_has("7/1.new/0/writer"));
	FINE(store_abandon(&place));
	ok(!stored_has("7"));
	stored_end();
}

TAP_TEST(store_abandon__leaves_what_is_committed)
{
	struct store_place one = stored_place(1, 0), two = stored_place(2, 0),
			   other = stored_place(2, 1);

	stored_begin();
	FINE(store_abandon(&one));
	stored_commit(&one, "h0", 0);
	FINE(store_begin(&two, "h0", 1));
	FINE(store_begin(&other, "h1", 1));
	FINE(store_abandon(&two));
	FINE(store_abandon(&two));
	FINE(store_abandon(&one));
	ok(!stored_has("7/2.new/0") && stored_has("7/2.new/1/writer"));
	ok(stored_has("7/1/0/host.json"));
	FINE(store_abandon(&other));
	ok(!stored_has("7/2.new"));
	stored_end();
}

TAP_TEST(store_remove__of_one_host)
{
	struct store_place places[] = {stored_place(1, 0), stored_place(2, 0), stored_place(1, 1),
				       stored_place(3, 0)};

	stored_begin();
	FINE(store_remove(stored, JOB, "h0"));
	stored_commit(&places[0], "h0", 0);
	stored_commit(&places[1], "h0", 0);
	stored_commit(&places[2], "h1", 0);
	FINE(stored_seal(&places[3], "h0"));
	FINE(store_remove(stored, JOB + 1, "h0"));
	FINE(store_remove(stored, JOB, "h0"));
	ok(!stored_has("7/1/0") && !stored_has("7/2") && !stored_has("7/3.new"));
	ok(!stored_has("7/1.new") && stored_has("7/1/1/host.json"));
	FINE(store_remove(stored, JOB, "h1"));
	ok(!stored_has("7"));
	stored_end();
}

TAP_TEST(store_clean__of_one_host)
{
	struct store_place kept = stored_place(1, 0), ours = stored_place(2, 0),
			   theirs = stored_place(2, 1), alone = stored_place(3, 0);

	stored_begin();
	store_clean(stored, "h0");
	stored_commit(&kept, "h0", 0);
	FINE(store_begin(&ours, "h0", 1));
	ok(stored_dump(&ours));
	FINE(stored_seal(&theirs, "h1"));
	FINE(stored_seal(&alone, "h0"));
	/* what a crash leaves of a begin, of a commit, and of a removal */
	ok(!mkdir(stored_path("7/2.new/5.h0"), 0700) && !mkdir(stored_path("7/2.new/6.h1"), 0700));
	ok(!mkdir(stored_path("7/4"), 0700) && !mkdir(stored_path("7/2.new/8"), 0700));
	ok(!mkdir(stored_path("8"), 0700) && !mkdir(stored_path("8/1.new"), 0700));
	ok(!mkdir(stored_path("lost+found"), 0700));
	store_clean(stored, "h0");
	ok(!stored_has("7/2.new/0") && !stored_has("7/3.new") && !stored_has("7/2.new/5.h0"));
	ok(!stored_has("7/4") && !stored_has("7/2.new/8") && !stored_has("8"));
	ok(stored_has("7/2.new/1/host.json") && stored_has("7/2.new/6.h1"));
	ok(stored_has("7/1/0/host.json") && stored_has("lost+found"));
	stored_end();
}

/* Nothing behind a link is touched, and what somebody has put into the tree goes with it. */
TAP_TEST(store_abandon__links_and_foreign_files)
{
	struct store_place place = stored_place(1, 0);
	char outside[96];

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	snprintf(outside, sizeof(outside), "%s/outside", stored_base);
	ok(!mkdir(outside, 0700));
	stored_write("../outside/file", "stays");
	ok(!symlink(outside, stored_path("7/1.new/0/link")));
	ok(!mkdir(stored_path("7/1.new/0/a"), 0) || !geteuid());
	ok(!chmod(stored_path("7/1.new/0/a"), 0700));
	ok(!mkdir(stored_path("7/1.new/0/a/b"), 0700));
	ok(!symlink(outside, stored_path("7/1.new/0/a/b/link")));
	stored_write("7/1.new/0/a/b/file", "goes");
	FINE(store_abandon(&place));
	ok(!stored_has("7") && stored_has("../outside/file"));
	ok(!mkdir(stored_path("7"), 0700) && !mkdir(stored_path("7/1.new"), 0700));
	ok(!symlink(outside, stored_path("7/1.new/0")));
	FINE(store_abandon(&place));
	ok(!stored_has("7") && stored_has("../outside/file"));
	ok(!symlink(outside, stored_path("7")));
	WRONG(store_abandon(&place), "only directories belong there");
	WRONG(store_begin(&place, "h0", 1), "only directories belong there");
	stored_end();
}

TAP_TEST(store_abandon__a_tree_without_end)
{
	struct store_place place = stored_place(1, 0);
	char cwd[PATH_MAX];
	bool is_made = true;

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	must(getcwd(cwd, sizeof(cwd)) && !chdir(stored_path("7/1.new/0")));
	for (int i = 0; i < 100; i++)
		is_made = is_made && !mkdir("d", 0700) && !chdir("d");
	ok(is_made && !chdir(cwd));
	WRONG(store_abandon(&place), "cannot be removed");
	ok(stored_has("7/1.new/0/writer"));
	stored_end();
}

TAP_TEST(store_abandon__a_mount_in_the_tree)
{
	struct store_place place = stored_place(1, 0);
	char outside[96];

	stored_begin();
	FINE(store_begin(&place, "h0", 1));
	snprintf(outside, sizeof(outside), "%s/outside", stored_base);
	ok(!mkdir(outside, 0700) && !mkdir(stored_path("7/1.new/0/mount"), 0700));
	stored_write("../outside/file", "stays");
	if (mount(outside, stored_path("7/1.new/0/mount"), NULL, MS_BIND, NULL)) {
		tap_skip("no right to mount");
	} else {
		WRONG(store_abandon(&place), "unmount");
		ok(stored_has("../outside/file") && stored_has("7/1.new/0/writer"));
		ok(!umount(stored_path("7/1.new/0/mount")));
		FINE(store_abandon(&place));
		ok(!stored_has("7"));
	}
	stored_end();
}

TAP_TEST(store_verify__damage)
{
	struct store_place place = stored_place(1, 0), missing = stored_place(2, 0);
	struct hostfile h;

	stored_begin();
	stored_commit(&place, "h0", 0);
	WRONG(store_verify(&missing, &h), "checkpoint 2 of job 7", stored);
	stored_write("7/1/0/restore.log", "once");
	FINE(store_verify(&place, &h));
	hostfile_fini(&h);
	stored_write("7/1/0/pages-1.img", "123456780");
	WRONG(store_verify(&place, &h), "host h0", "pages-1.img is damaged", "older");
	stored_write("7/1/0/pages-1.img", "12345678");
	WRONG(store_verify(&place, &h), "has 8 bytes and had 9");
	ok(!unlink(stored_path("7/1/0/pages-1.img")));
	WRONG(store_verify(&place, &h), "pages-1.img", "No such file");
	ok(!symlink("/etc/passwd", stored_path("7/1/0/pages-1.img")));
	WRONG(store_verify(&place, &h), "pages-1.img is no regular file");
	ok(!unlink(stored_path("7/1/0/pages-1.img")));
	stored_write("7/1/0/pages-1.img", "123456789");
	stored_write("7/1/0/core-2.img", "");
	WRONG(store_verify(&place, &h), "core-2.img is not of this checkpoint");
	ok(!unlink(stored_path("7/1/0/core-2.img")));
	FINE(store_verify(&place, &h));
	hostfile_fini(&h);
	ok(!mkdir(stored_path("7/2"), 0700));
	ok(!rename(stored_path("7/1/0"), stored_path("7/2/0")));
	WRONG(store_verify(&missing, &h), "checkpoint 1 of job 7", "back");
	stored_write("7/2/0/host.json", "{");
	WRONG(store_verify(&missing, &h), "host.json is damaged");
	stored_write("7/2/0/host.json", "{}");
	WRONG(store_verify(&missing, &h), "host.json: format");
	stored_end();
}

/* The file system, to its last page. */
static void fill(void)
{
	static unsigned int n;
	char path[128], page[4096] = "";
	bool is_full = false;

	while (!is_full) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/fill-%u", stored, n++);
		file = fopen(path, "we");
		if (!ok(file != NULL))
			return;
		setbuf(file, NULL);
		is_full = fwrite(page, sizeof(page), 1, file) != 1;
		fclose(file);
	}
}

/* A disk that becomes full under each step in turn. */
TAP_TEST(store_seal__a_disk_that_is_full)
{
	struct store_place place = stored_place(1, 0);
	struct hostfile about = stored_about("h0");
	uint64_t bytes;

	stored_begin();
	must(!mkdir(stored, 0700));
	if (mount("none", stored, "tmpfs", 0, "size=64k,mode=0700")) {
		tap_skip("no right to mount");
		json_decref(about.order);
		stored_end();
		return;
	}
	WRONG(store_begin(&place, "h0", 70000), "4464 are missing", "make room");
	FINE(store_begin(&place, "h0", 60000));
	ok(stored_dump(&place));
	fill();
	WRONG(store_seal(&place, &about, &bytes), "host h0", "host.json", "No space left",
	      "make room", stored);
	WRONG(store_commit(&place, 0), "no images");
	FINE(store_abandon(&place));
	fill();
	WRONG(store_begin(&place, "h0", 0), "No space left", "make room");
	ok(!stored_has("7"));
	ok(!umount(stored));
	json_decref(about.order);
	stored_end();
}

/* One host in a process of its own: @rounds rounds in the directory that both share. */
static void take_rounds(uint32_t index, uint64_t rounds)
{
	char host[8];

	snprintf(host, sizeof(host), "h%u", index);
	for (uint64_t round = 1; round <= rounds; round++) {
		struct store_place place = stored_place(round, index);
		char *text = stored_seal(&place, host);

		if (!text && round % 5)
			text = store_commit(&place, round);
		else if (!text)
			text = store_abandon(&place);
		store_clean(stored, host);
		if (text) {
			tap_diag("%s", text);
			_exit(1);
		}
	}
	_exit(0);
}

TAP_TEST(store_commit__of_hosts_that_share_a_directory)
{
	enum { HOSTS = 2, ROUNDS = 199 };
	pid_t pids[HOSTS];
	struct hostfile h;

	stored_begin();
	for (uint32_t i = 0; i < HOSTS; i++) {
		pids[i] = fork();
		if (!pids[i])
			take_rounds(i, ROUNDS);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		int status = -1;

		is_int(waitpid(pids[i], &status, 0), pids[i]);
		is_int(status, 0);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct store_place place = stored_place(ROUNDS, i);

		FINE(store_verify(&place, &h));
		hostfile_fini(&h);
	}
	ok(!stored_has("7/198") && !stored_has("7/199.new"));
	FINE(store_remove(stored, JOB, "h0"));
	FINE(store_remove(stored, JOB, "h1"));
	ok(!stored_has("7"));
	stored_end();
}

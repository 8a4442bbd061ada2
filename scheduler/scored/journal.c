// SPDX-License-Identifier: BSD-3-Clause
/*
 * One table for jobs of all states, one for leases that are held, one for those that were taken
 * from somebody, one for checkpoints. A number is given by a row of its own, so it never comes
 * back.
 */
#include "scheduler/scored/journal.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pmcore/util/clock.h"
#include "pmcore/util/owndir.h"

struct journal {
	sqlite3 *db;
	unsigned int n_ended; /* written by us */
	char path[4096];
};

/* user_version tells a later scored what it finds. */
static const char schema[] =
	"PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS number (next INTEGER NOT NULL);"
	"INSERT INTO number SELECT 1 WHERE NOT EXISTS (SELECT * FROM number);"
	"CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, name TEXT "
	"NOT NULL,"
	" submitted INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL, ranks "
	"INTEGER NOT NULL,"
	" hosts INTEGER NOT NULL, code INTEGER NOT NULL, text TEXT NOT NULL, orders TEXT NOT NULL);"
	"CREATE INDEX IF NOT EXISTS job_ended ON job (ended);"
	"CREATE TABLE IF NOT EXISTS lease (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, since "
	"INTEGER NOT NULL, wish TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS taken (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, taker "
	"INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS checkpoint (job INTEGER NOT NULL, round INTEGER NOT NULL, uid "
	"INTEGER NOT NULL, taken INTEGER NOT NULL, bytes INTEGER NOT NULL, orders TEXT NOT NULL,"
	" PRIMARY KEY (job, round));"
	"PRAGMA user_version=1;"
	"COMMIT;";

/* A sentence about what SQLite said last; its errno. */
static int failed(const struct journal *j, const char *what, char *why, size_t why_size)
{
	int code = sqlite3_extended_errcode(j->db) & 0xff;
	bool is_full = code == SQLITE_FULL;

	snprintf(why, why_size, "journal %s: %s: %s; %s", j->path, what, sqlite3_errmsg(j->db),
		 is_full ? "make room on that file system"
		 : code == SQLITE_BUSY
			 ? "another scored has it: end that one, or choose another --state"
			 : "look after the directory, or choose another with --state");
	return is_full ? -ENOSPC : -EIO;
}

/* Where it lies: in a directory, and in files if they are there, that are ours alone. */
static int place(struct journal *j, const char *directory, char *why, size_t why_size)
{
	static const char *const files[] = {"journal.sqlite", "journal.sqlite-wal",
					    "journal.sqlite-shm", "journal.sqlite-journal"};
	int err;

	if (!strcmp(directory, JOURNAL_NONE)) {
		snprintf(j->path, sizeof(j->path), ":memory:");
		return 0;
	}
	snprintf(j->path, sizeof(j->path), "%s/journal.sqlite", directory);
	err = owndir_open(directory, 0700, "state directory", "--state", why, why_size);
	for (size_t i = 0; !err && i < sizeof(files) / sizeof(files[0]); i++)
		err = owndir_file(directory, files[i], why, why_size);
	return err;
}

/*
 * Nobody else may read environments and keys of jobs, from the first byte on and in SQLite's other
 * files too.
 */
static int open_database(struct journal *j)
{
	mode_t mask = umask(077);
	int err = sqlite3_open(j->path, &j->db);

	if (!err)
		err = sqlite3_exec(j->db, schema, NULL, NULL, NULL);
	umask(mask);
	return err;
}

struct journal *journal_open(const char *directory, char *why, size_t why_size)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j) {
		snprintf(why, why_size, "no memory");
		return NULL;
	}
	if (place(j, directory, why, why_size)) {
		free(j);
		return NULL;
	}
	if (open_database(j)) {
		failed(j, "open", why, why_size);
		sqlite3_close(j->db);
		free(j);
		return NULL;
	}
	return j;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	sqlite3_close(j->db);
	free(j);
}

/* Whether transactions from now on go to the disk at once, or together with a later one. */
static void be_sure(struct journal *j, bool is_sure)
{
	sqlite3_exec(j->db, is_sure ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL,
		     NULL, NULL);
}

uint64_t journal_number(struct journal *j, char *why, size_t why_size)
{
	sqlite3_stmt *s = NULL;
	uint64_t number = 0;

	if (!sqlite3_prepare_v2(j->db, "UPDATE number SET next = next + 1 RETURNING next - 1", -1,
				&s, NULL) &&
	    sqlite3_step(s) == SQLITE_ROW) {
		number = (uint64_t)sqlite3_column_int64(s, 0);
		if (sqlite3_step(s) != SQLITE_DONE)
			number = 0;
	}
	if (!number)
		failed(j, "a new number", why, why_size);
	sqlite3_finalize(s);
	return number;
}

static int put(struct journal *j, const struct journal_job *job, char *why, size_t why_size)
{
	static const char sql[] = "INSERT OR REPLACE INTO job VALUES (?,?,?,?,?,?,?,?,?,?,?)";
	sqlite3_stmt *s = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)job->id);
	sqlite3_bind_int64(s, 2, job->uid);
	sqlite3_bind_text(s, 3, job->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, job->submitted);
	sqlite3_bind_int64(s, 5, job->started);
	sqlite3_bind_int64(s, 6, job->ended);
	sqlite3_bind_int64(s, 7, job->ranks);
	sqlite3_bind_int64(s, 8, job->hosts);
	sqlite3_bind_int64(s, 9, job->code);
	sqlite3_bind_text(s, 10, job->text ? job->text : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 11, job->order ? job->order : "", -1, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_DONE)
		err = failed(j, "write", why, why_size);
	sqlite3_finalize(s);
	return err;
}

int journal_started(struct journal *j, const struct journal_job *job, char *why, size_t why_size)
{
	return put(j, job, why, why_size);
}

static int drop_oldest(struct journal *j, char *why, size_t why_size)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM job WHERE ended > 0 AND id <= (SELECT id FROM job WHERE ended > 0"
		 " ORDER BY id DESC LIMIT 1 OFFSET %d)",
		 JOURNAL_HISTORY);
	return sqlite3_exec(j->db, sql, NULL, NULL, NULL)
		       ? failed(j, "drop the oldest", why, why_size)
		       : 0;
}

int journal_ended(struct journal *j, const struct journal_job *job, char *why, size_t why_size)
{
	int err = put(j, job, why, why_size);

	if (!err && j->n_ended++ % JOURNAL_BEYOND == 0)
		err = drop_oldest(j, why, why_size);
	return err;
}

/* @step: what sqlite3_step() said last. */
static int all_read(struct journal *j, sqlite3_stmt *s, int step, char *why, size_t why_size)
{
	int err = step == SQLITE_DONE ? 0 : failed(j, "read", why, why_size);

	sqlite3_finalize(s);
	return err;
}

static int read_all(struct journal *j, const char *sql, journal_each *each, void *owner, char *why,
		    size_t why_size)
{
	sqlite3_stmt *s = NULL;
	int step;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL))
		return failed(j, "read", why, why_size);
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		struct journal_job job = {
			.id = (uint64_t)sqlite3_column_int64(s, 0),
			.uid = (uid_t)sqlite3_column_int64(s, 1),
			.name = (const char *)sqlite3_column_text(s, 2),
			.submitted = sqlite3_column_int64(s, 3),
			.started = sqlite3_column_int64(s, 4),
			.ended = sqlite3_column_int64(s, 5),
			.ranks = (uint32_t)sqlite3_column_int64(s, 6),
			.hosts = (uint32_t)sqlite3_column_int64(s, 7),
			.code = sqlite3_column_int(s, 8),
			.text = (const char *)sqlite3_column_text(s, 9),
			.order = (const char *)sqlite3_column_text(s, 10),
		};

		each(&job, owner);
	}
	return all_read(j, s, step, why, why_size);
}

int journal_running(struct journal *j, journal_each *each, void *owner, char *why, size_t why_size)
{
	return read_all(j, "SELECT * FROM job WHERE ended = 0 ORDER BY id", each, owner, why,
			why_size);
}

int journal_history(struct journal *j, size_t most, journal_each *each, void *owner, char *why,
		    size_t why_size)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT * FROM job WHERE ended > 0 ORDER BY id DESC LIMIT %zu",
		 most < JOURNAL_HISTORY ? most : JOURNAL_HISTORY);
	return read_all(j, sql, each, owner, why, why_size);
}

static int done(struct journal *j, sqlite3_stmt *s, char *why, size_t why_size)
{
	int err = sqlite3_step(s) == SQLITE_DONE ? 0 : failed(j, "write", why, why_size);

	sqlite3_finalize(s);
	return err;
}

/* ---- checkpoints: a row without a time is of one that is not complete ---- */

uint64_t journal_checkpoint_number(struct journal *j, uint64_t job, char *why, size_t why_size)
{
	sqlite3_stmt *s = NULL;
	uint64_t number = 0;

	if (!sqlite3_prepare_v2(j->db,
				"INSERT INTO checkpoint SELECT ?1, COALESCE(MAX(round), 0) + 1, 0, "
				"0, 0, '' FROM checkpoint WHERE job = ?1 RETURNING round",
				-1, &s, NULL)) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)job);
		if (sqlite3_step(s) == SQLITE_ROW)
			number = (uint64_t)sqlite3_column_int64(s, 0);
		if (sqlite3_step(s) != SQLITE_DONE)
			number = 0;
	}
	if (!number)
		failed(j, "a new number", why, why_size);
	sqlite3_finalize(s);
	return number;
}

static int put_checkpoint(struct journal *j, const struct journal_checkpoint *c, char *why,
			  size_t why_size)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(j->db, "INSERT OR REPLACE INTO checkpoint VALUES (?,?,?,?,?,?)", -1,
			       &s, NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)c->job);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)c->round);
	sqlite3_bind_int64(s, 3, c->uid);
	sqlite3_bind_int64(s, 4, c->taken);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)c->bytes);
	sqlite3_bind_text(s, 6, c->order, -1, SQLITE_STATIC);
	return done(j, s, why, why_size);
}

int journal_checkpoint_done(struct journal *j, const struct journal_checkpoint *c, char *why,
			    size_t why_size)
{
	static const char drop[] =
		"DELETE FROM checkpoint WHERE job = ?1 AND round < (SELECT round FROM checkpoint "
		"WHERE job = ?1 AND taken > 0 ORDER BY round DESC LIMIT 1 OFFSET 1)";
	sqlite3_stmt *s = NULL;
	int err = put_checkpoint(j, c, why, why_size);

	if (err)
		return err;
	if (sqlite3_prepare_v2(j->db, drop, -1, &s, NULL))
		return failed(j, "drop the oldest", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)c->job);
	return done(j, s, why, why_size);
}

int journal_checkpoints_forget(struct journal *j, uint64_t job, char *why, size_t why_size)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(j->db, "DELETE FROM checkpoint WHERE job = ?", -1, &s, NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)job);
	return done(j, s, why, why_size);
}

int journal_checkpoints(struct journal *j, uint64_t job, journal_each_checkpoint *each, void *owner,
			char *why, size_t why_size)
{
	static const char sql[] = "SELECT * FROM checkpoint WHERE taken > 0 AND (?1 = 0 OR job = "
				  "?1) ORDER BY job, round DESC";
	sqlite3_stmt *s = NULL;
	int step;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL))
		return failed(j, "read", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)job);
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		struct journal_checkpoint c = {
			.job = (uint64_t)sqlite3_column_int64(s, 0),
			.round = (uint64_t)sqlite3_column_int64(s, 1),
			.uid = (uid_t)sqlite3_column_int64(s, 2),
			.taken = sqlite3_column_int64(s, 3),
			.bytes = (uint64_t)sqlite3_column_int64(s, 4),
			.order = (const char *)sqlite3_column_text(s, 5),
		};

		each(&c, owner);
	}
	return all_read(j, s, step, why, why_size);
}

/* ---- leases ---- */

uint64_t journal_lease_number(struct journal *j, char *why, size_t why_size)
{
	uint64_t number;

	be_sure(j, false);
	number = journal_number(j, why, why_size);
	be_sure(j, true);
	return number;
}

int journal_lease_begun(struct journal *j, const struct journal_lease *lease, char *why,
			size_t why_size)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(j->db, "INSERT OR REPLACE INTO lease VALUES (?,?,?,?)", -1, &s,
			       NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)lease->id);
	sqlite3_bind_int64(s, 2, lease->uid);
	sqlite3_bind_int64(s, 3, lease->since);
	sqlite3_bind_text(s, 4, lease->request, -1, SQLITE_STATIC);
	return done(j, s, why, why_size);
}

static int forget_lease(struct journal *j, uint64_t id, char *why, size_t why_size)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(j->db, "DELETE FROM lease WHERE id = ?", -1, &s, NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	return done(j, s, why, why_size);
}

static int note_taken(struct journal *j, const struct journal_lease *lease, uid_t taker,
		      const char *text, char *why, size_t why_size)
{
	char sql[128];
	sqlite3_stmt *s = NULL;
	int err;

	if (sqlite3_prepare_v2(j->db, "INSERT OR REPLACE INTO taken VALUES (?,?,?,?,?)", -1, &s,
			       NULL))
		return failed(j, "write", why, why_size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)lease->id);
	sqlite3_bind_int64(s, 2, lease->uid);
	sqlite3_bind_int64(s, 3, taker);
	sqlite3_bind_int64(s, 4, clock_realtime_s());
	sqlite3_bind_text(s, 5, text, -1, SQLITE_STATIC);
	err = done(j, s, why, why_size);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM taken WHERE id <= (SELECT id FROM taken ORDER BY id DESC LIMIT 1 "
		 "OFFSET %d)",
		 JOURNAL_HISTORY);
	if (!err && sqlite3_exec(j->db, sql, NULL, NULL, NULL))
		err = failed(j, "drop the oldest", why, why_size);
	return err;
}

/* The end of a lease and who is to blame for it are one transaction. */
int journal_lease_ended(struct journal *j, const struct journal_lease *lease, const uid_t *taker,
			const char *text, char *why, size_t why_size)
{
	int err;

	if (!taker) {
		be_sure(j, false);
		err = forget_lease(j, lease->id, why, why_size);
		be_sure(j, true);
		return err;
	}
	if (sqlite3_exec(j->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return failed(j, "write", why, why_size);
	err = forget_lease(j, lease->id, why, why_size);
	if (!err)
		err = note_taken(j, lease, *taker, text, why, why_size);
	if (!err && sqlite3_exec(j->db, "COMMIT", NULL, NULL, NULL))
		err = failed(j, "write", why, why_size);
	if (err)
		sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

int journal_leases(struct journal *j, journal_each_lease *each, void *owner, char *why,
		   size_t why_size)
{
	sqlite3_stmt *s = NULL;
	int step;

	if (sqlite3_prepare_v2(j->db, "SELECT * FROM lease ORDER BY id", -1, &s, NULL))
		return failed(j, "read", why, why_size);
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		struct journal_lease lease = {
			.id = (uint64_t)sqlite3_column_int64(s, 0),
			.uid = (uid_t)sqlite3_column_int64(s, 1),
			.since = sqlite3_column_int64(s, 2),
			.request = (const char *)sqlite3_column_text(s, 3),
		};

		each(&lease, owner);
	}
	return all_read(j, s, step, why, why_size);
}

bool journal_lease_taken(struct journal *j, uint64_t id, uid_t uid, char *text, size_t size)
{
	sqlite3_stmt *s = NULL;
	bool is_taken = false;

	if (sqlite3_prepare_v2(j->db, "SELECT text FROM taken WHERE id = ? AND uid = ?", -1, &s,
			       NULL))
		return false;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	sqlite3_bind_int64(s, 2, uid);
	is_taken = sqlite3_step(s) == SQLITE_ROW;
	if (is_taken)
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return is_taken;
}

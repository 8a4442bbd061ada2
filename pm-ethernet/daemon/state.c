// SPDX-License-Identifier: BSD-3-Clause
/* The state file is JSON, replaced as a whole, so that it is either the old or the new one. */
#include "pm-ethernet/daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/daemon/jobs.h"
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/rails.h"

static void path_of(const struct ethd *d, const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s", d->options.run, name);
}

/* Numbers of 64 bits are text: JSON's integers here are signed. */
static json_t *pack_number(uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIx64, n);
	return json_string(text);
}

static uint64_t unpack_number(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? strtoull(text, NULL, 16) : 0;
}

static json_t *pack_context(const struct ethd *d, uint32_t number)
{
	const struct ethd_context *c = &d->contexts[number];
	json_t *rails = json_array();

	for (uint32_t r = 0; r < c->n_rails; r++)
		json_array_append_new(rails, json_integer(c->rails[r]));
	return json_pack("{si si si si si si so so so so}", "context", (int)number, "pid",
			 (int)c->pid, "uid", (int)c->uid, "attachment",
			 (int)(c->is_pending ? ETH_DETACHED : c->attachment), "port", c->port,
			 "slot", (int)c->slot, "key", pack_number(c->key), "start",
			 pack_number(c->start_time), "memory", pack_number(c->memory_bytes),
			 "rails", rails);
}

static json_t *pack(const struct ethd *d)
{
	json_t *contexts = json_array();
	char names[ETH_RAILS * ETH_NAME];

	for (uint32_t c = 1; c < ETH_CONTEXTS; c++)
		if (d->contexts[c].key && !d->contexts[c].is_new)
			json_array_append_new(contexts, pack_context(d, c));
	ethd_rails_names(d, names, sizeof(names));
	return json_pack("{so si ss ss sb so so}", "host", pack_number(d->host), "type",
			 (int)d->options.type, "rails", names, "mode", ethd_mode_name(d->mode),
			 "frags", d->is_frags, "grid", pack_number(ethd_grid_digest(&d->options)),
			 "contexts", contexts);
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -ENOSPC;
}

void ethd_state_save(struct ethd *d)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	json_t *all = pack(d);
	char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
	int fd, err;

	path_of(d, "state", path, sizeof(path));
	path_of(d, "state.new", fresh, sizeof(fresh));
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	err = !text ? -ENOMEM : fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0)
		close(fd);
	if (!err && rename(fresh, path))
		err = -errno;
	if (err)
		ethd_say("%s not written: %s; contexts would not survive a restart", path,
			 strerror(-err));
	free(text);
	json_decref(all);
}

static int integer(const json_t *object, const char *name, int low, int high)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n < low || n > high ? low : (int)n;
}

/* One context, if its process lives. */
static bool adopt(struct ethd *d, const json_t *from)
{
	uint32_t number = (uint32_t)integer(from, "context", 0, ETH_CONTEXTS - 1);
	struct ethd_context *c = &d->contexts[number];
	const json_t *rails = json_object_get(from, "rails");
	struct ethd_context new = {
		.key = unpack_number(from, "key"),
		.start_time = unpack_number(from, "start"),
		.memory_bytes = unpack_number(from, "memory"),
		.pid = integer(from, "pid", 0, INT_MAX),
		.uid = (uid_t)integer(from, "uid", INT_MIN, INT_MAX),
		.attachment = (uint32_t)integer(from, "attachment", 0, ETH_PORT),
		.slot = (uint32_t)integer(from, "slot", 0, ETH_SLOTS_MAX),
		.inbox = -1,
		.port = integer(from, "port", -1, ETH_CONTEXTS - 1),
	};

	if (!number || c->key || !new.key || !new.start_time ||
	    ethd_process_start(new.pid) != new.start_time)
		return false;
	if (new.attachment == ETH_PORT && (new.port < 0 || d->ports[new.port].context))
		return false;
	new.pidfd = ethd_process_open(new.pid);
	if (new.pidfd < 0)
		return false;
	new.n_rails = (uint32_t)json_array_size(rails);
	if (new.n_rails > ETH_RAILS)
		new.n_rails = ETH_RAILS;
	for (uint32_t r = 0; r < new.n_rails; r++)
		new.rails[r] = (uint8_t)json_integer_value(json_array_get(rails, r));
	if (new.attachment == ETH_DIRECT)
		new.job = ethd_job_adopt(d, new.key, new.uid);
	if (new.attachment == ETH_PORT)
		d->ports[new.port].context = (uint16_t)number;
	else
		new.port = -1;
	*c = new;
	return true;
}

/*
 * Whether maps and board of that daemon can be gone on with though it left no context: relays whose
 * programs they are pass frames on meanwhile.
 */
static bool is_same_grid(const struct ethd *d, const json_t *all)
{
	const char *rails = json_string_value(json_object_get(all, "rails"));
	uint64_t grid = ethd_grid_digest(&d->options);
	char names[ETH_RAILS * ETH_NAME];

	ethd_rails_names(d, names, sizeof(names));
	return grid && unpack_number(all, "grid") == grid && rails && !strcmp(rails, names) &&
	       unpack_number(all, "host") == d->host &&
	       integer(all, "type", 0, 0xffff) == d->options.type;
}

static enum ethd_mode unpack_mode(const json_t *all)
{
	const char *name = json_string_value(json_object_get(all, "mode"));
	enum ethd_mode mode = ETHD_MODE_TC;

	while (mode != ETHD_MODE_AUTO && (!name || strcmp(name, ethd_mode_name(mode))))
		mode--;
	return mode;
}

/* Running contexts have host id, EtherType and rail numbers in their hands. */
static int check_options(struct ethd *d, const json_t *all, char *why, size_t why_size)
{
	const char *rails = json_string_value(json_object_get(all, "rails"));
	uint32_t host = (uint32_t)unpack_number(all, "host");
	int type = integer(all, "type", 0, 0xffff);
	char names[ETH_RAILS * ETH_NAME];

	ethd_rails_names(d, names, sizeof(names));
	if (unpack_number(all, "grid") != ethd_grid_digest(&d->options)) {
		snprintf(why, why_size,
			 "contexts are in use that a pm-ethernetd with another topology granted; "
			 "start "
			 "with the --config of that time, or end those processes first");
		return -EINVAL;
	}
	if (!d->options.has_host_id)
		d->host = host;
	if (rails && !strcmp(rails, names) && host == d->host && type == d->options.type) {
		d->mode = unpack_mode(all);
		d->is_frags = json_is_true(json_object_get(all, "frags"));
		return 0;
	}
	snprintf(why, why_size,
		 "contexts are in use that a pm-ethernetd with host id %u, EtherType 0x%04x, rails "
		 "%s "
		 "granted; start with the same, or end those processes first",
		 host, (unsigned int)type, rails ? rails : "?");
	return -EINVAL;
}

int ethd_state_load(struct ethd *d, char *why, size_t why_size)
{
	char path[PATH_MAX];
	json_t *all, *contexts;
	size_t i;
	json_t *from;
	int n = 0, err = 0;

	path_of(d, "state", path, sizeof(path));
	all = json_load_file(path, 0, NULL);
	contexts = json_object_get(all, "contexts");
	json_array_foreach(contexts, i, from)
		n += adopt(d, from);
	if (n)
		err = check_options(d, all, why, why_size);
	d->is_resumed = n ? !err : is_same_grid(d, all);
	if (!n && d->is_resumed)
		d->mode = unpack_mode(all);
	json_decref(all);
	return err ? err : n;
}

static int make_board(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(struct eth_board))) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

int ethd_board_open(struct ethd *d, bool is_new, char *why, size_t why_size)
{
	char path[PATH_MAX];
	struct stat st;
	void *at = MAP_FAILED;
	int fd, err;

	path_of(d, "board", path, sizeof(path));
	fd = is_new ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_size != sizeof(struct eth_board))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		fd = make_board(path);
	if (fd >= 0) {
		at = mmap(NULL, sizeof(struct eth_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);
		close(fd);
	}
	/* The descriptor that clients get is read-only: it is opened so, and the file is root's. */
	if (at != MAP_FAILED)
		d->board_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (at == MAP_FAILED || d->board_fd < 0) {
		err = -errno;
		snprintf(why, why_size, "board %s: %s; choose another directory with --run", path,
			 strerror(-err));
		return err;
	}
	d->board = at;
	d->board->magic = ETH_BOARD_MAGIC;
	d->board->version = ETH_BOARD_VERSION;
	d->board->host = d->host;
	/* a rival of then is heard again if it is still there */
	atomic_store(&d->board->duplicate, 0);
	return 0;
}

void ethd_state_remove(struct ethd *d)
{
	static const char *const names[] = {"state", "state.new", "board", "socket"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(d, names[i], path, sizeof(path));
		unlink(path);
	}
}

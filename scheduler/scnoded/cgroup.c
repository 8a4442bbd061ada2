// SPDX-License-Identifier: BSD-3-Clause
/*
 * The files that freeze, and tell of it, are opened once, so that the switch thread only reads and
 * writes.
 */
#include "scheduler/scnoded/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/descendants.h"
#include "scheduler/scnoded/hierarchy.h"
#include "scheduler/scnoded/limit.h"

struct cgroup {
	enum cgroup_form form;
	char path[PATH_MAX / 2]; /* of the job's group; "" without cgroups */
	char cpu[PATH_MAX / 2];  /* v1: of the same group in cpuacct; "" = not there */
	char pids[PATH_MAX /
		  2]; /* of the same group in v1's pids, if v2 has not got it; "" = not there */
	char memory[PATH_MAX / 2]; /* the same of v1's memory */
	bool is_memory_held;       /* who is not in its group there would have no limit */
	int freezer; /* cgroup.freeze or freezer.state of the ranks; -1 without cgroups */
	int state;   /* v2: cgroup.events of the ranks; else freezer */
	pid_t step;  /* without cgroups: whose descendants the ranks are */
};

static const char *const leaves[] = {"step", "ranks"};

/* ---- the machine ---- */

/* Whether groups can be made and frozen there. */
static int try_form(enum cgroup_form form, const char *parent)
{
	char root[PATH_MAX / 2], test[PATH_MAX];
	int err;

	if (!hierarchy_root(form, parent, root, sizeof(root)))
		return -ENOENT;
	err = hierarchy_make(root);
	if (err)
		return err;
	snprintf(test, sizeof(test), "%s/probe-%d", root, getpid());
	if (mkdir(test, 0755) && errno != EEXIST)
		return -errno;
	strcat(test, form == CGROUP_V1 ? "/freezer.state" : "/cgroup.freeze");
	err = access(test, W_OK) ? -errno : 0;
	*strrchr(test, '/') = 0;
	rmdir(test);
	return err;
}

enum cgroup_form cgroup_probe(const char *parent, char *why, size_t why_size)
{
	char mount[PATH_MAX / 4];
	int v2 = try_form(CGROUP_V2, parent), v1 = 0;

	if (!v2)
		return hierarchy_mount("cgroup", NULL, mount, sizeof(mount)) ? CGROUP_HYBRID
									     : CGROUP_V2;
	v1 = try_form(CGROUP_V1, parent);
	if (!v1)
		return CGROUP_V1;
	snprintf(why, why_size,
		 "no cgroups (v2: %s, v1 freezer: %s): jobs are stopped and ended process by "
		 "process; run as root, "
		 "or delegate the group %s",
		 strerror(-v2), strerror(-v1), parent);
	return CGROUP_NONE;
}

bool cgroup_can_limit(enum cgroup_form form, const char *parent)
{
	char path[PATH_MAX / 2];

	if (form == CGROUP_NONE)
		return false;
	if (form != CGROUP_V1 && hierarchy_root(form, parent, path, sizeof(path)) &&
	    limit_offer(path))
		return true;
	return hierarchy_mount("cgroup", "pids", path, sizeof(path)) && !access(path, W_OK);
}

bool cgroup_can_limit_memory(enum cgroup_form form, const char *parent)
{
	char path[PATH_MAX / 2];

	if (form == CGROUP_NONE)
		return false;
	/* As main() has asked for pids, all groups down to ours have it if they can. */
	if (form != CGROUP_V1 && hierarchy_root(form, parent, path, sizeof(path)) &&
	    limit_has_memory(path))
		return true;
	return hierarchy_mount("cgroup", "memory", path, sizeof(path)) && !access(path, W_OK);
}

const char *cgroup_form_name(enum cgroup_form form)
{
	static const char *const names[] = {"none", "v1", "v2", "hybrid"};

	return names[form];
}

/* ---- a job's groups ---- */

static void leaf_file(const struct cgroup *g, const char *leaf, const char *file, char *path,
		      size_t size)
{
	snprintf(path, size, "%s/%s/%s", g->path, leaf, file);
}

static int remove_group(const char *group)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", group, leaves[i]);
		if (rmdir(path) && errno != ENOENT)
			return -errno;
	}
	return rmdir(group) && errno != ENOENT ? -errno : 0;
}

static void remove_beside(const struct cgroup *g)
{
	if (g->cpu[0])
		remove_group(g->cpu);
	if (g->pids[0])
		remove_group(g->pids);
	if (g->memory[0])
		remove_group(g->memory);
}

/* A failure is ignored: without its group a controller counts nothing for the job. */
static void make_beside(const char *group, const char *leaf)
{
	char path[PATH_MAX];

	if (!*group)
		return;
	snprintf(path, sizeof(path), "%s/%s", group, leaf);
	hierarchy_make(path);
}

static int make_groups(struct cgroup *g)
{
	char path[PATH_MAX];
	int err = hierarchy_make(g->path);

	for (size_t i = 0; !err && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", g->path, leaves[i]);
		if (mkdir(path, 0755) && errno != EEXIST)
			err = -errno;
		make_beside(g->cpu, leaves[i]);
		make_beside(g->pids, leaves[i]);
		make_beside(g->memory, leaves[i]);
	}
	return err;
}

/*
 * A job's group in the v1 hierarchy of a controller, which counts there what the group that freezes
 * does not.
 */
static void find_beside(char *group, size_t size, const char *controller, const char *parent,
			uint64_t id)
{
	char mount[PATH_MAX / 4];

	if (hierarchy_mount("cgroup", controller, mount, sizeof(mount)))
		snprintf(group, size, "%s/%s/job-%llu", mount, parent, (unsigned long long)id);
}

static int open_leaf(const struct cgroup *g, const char *file, int flags)
{
	char path[PATH_MAX];

	leaf_file(g, "ranks", file, path, sizeof(path));
	return open(path, flags | O_CLOEXEC);
}

static int open_freezer(struct cgroup *g)
{
	g->freezer = open_leaf(g, g->form == CGROUP_V1 ? "freezer.state" : "cgroup.freeze", O_RDWR);
	g->state = g->form == CGROUP_V1 ? g->freezer : open_leaf(g, "cgroup.events", O_RDONLY);
	return g->freezer < 0 || g->state < 0 ? -errno : 0;
}

struct cgroup *cgroup_open(enum cgroup_form form, const char *parent, uint64_t id)
{
	struct cgroup *g = calloc(1, sizeof(*g));
	char root[PATH_MAX / 2];
	int err;

	if (!g)
		return NULL;
	g->form = form;
	g->freezer = g->state = -1;
	if (form == CGROUP_NONE)
		return g;
	if (!hierarchy_root(form, parent, root, sizeof(root) - 32)) {
		free(g);
		errno = ENOENT;
		return NULL;
	}
	snprintf(g->path, sizeof(g->path), "%.*s/job-%llu", (int)sizeof(g->path) - 32, root,
		 (unsigned long long)id);
	if (form == CGROUP_V1)
		find_beside(g->cpu, sizeof(g->cpu), "cpuacct", parent, id);
	if (form == CGROUP_V1 || !limit_offer(root))
		find_beside(g->pids, sizeof(g->pids), "pids", parent, id);
	if (form == CGROUP_V1 || !limit_has_memory(root))
		find_beside(g->memory, sizeof(g->memory), "memory", parent, id);
	err = make_groups(g);
	if (!err)
		err = open_freezer(g);
	if (err) {
		/* Groups that hold somebody, of a job that is taken over, stay. */
		if (!remove_group(g->path))
			remove_beside(g);
		cgroup_forget(g);
		errno = -err;
		return NULL;
	}
	return g;
}

static int put_beside(const char *group, const char *leaf, const char *pid)
{
	char path[PATH_MAX];

	if (!*group)
		return 0;
	snprintf(path, sizeof(path), "%s/%s/cgroup.procs", group, leaf);
	return hierarchy_write(path, pid);
}

static int put(struct cgroup *g, const char *leaf, pid_t pid)
{
	char path[PATH_MAX], text[32];
	int err;

	snprintf(text, sizeof(text), "%d", pid);
	leaf_file(g, leaf, "cgroup.procs", path, sizeof(path));
	err = hierarchy_write(path, text);
	if (err)
		return err;
	/* Without its group a controller counts nothing for it. */
	put_beside(g->cpu, leaf, text);
	put_beside(g->pids, leaf, text);
	err = put_beside(g->memory, leaf, text);
	return g->is_memory_held ? err : 0;
}

int cgroup_put_step(struct cgroup *g, pid_t pid)
{
	g->step = pid;
	return g->form == CGROUP_NONE ? 0 : put(g, "step", pid);
}

int cgroup_put_rank(struct cgroup *g, pid_t pid)
{
	return g->form == CGROUP_NONE ? 0 : put(g, "ranks", pid);
}

static void each_pid(const struct cgroup *g, const char *leaf, bool (*each)(pid_t pid, void *owner),
		     void *owner)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", g->path, leaf);
	hierarchy_each_pid(path, each, owner);
}

struct pids {
	pid_t *all;
	size_t n, room;
	bool is_broken; /* no memory */
};

static bool note_pid(pid_t pid, void *owner)
{
	struct pids *p = owner;

	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		pid_t *all = realloc(p->all, room * sizeof(*all));

		p->is_broken = !all;
		if (!all)
			return false;
		p->all = all;
		p->room = room;
	}
	p->all[p->n++] = pid;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

ssize_t cgroup_pids(const struct cgroup *g, pid_t **pids)
{
	struct pids p = {0};

	if (g->form == CGROUP_NONE) {
		if (g->step > 0 && note_pid(g->step, &p))
			descendants_each(g->step, note_pid, &p);
	} else {
		for (size_t i = 0; i < 2; i++)
			each_pid(g, leaves[i], note_pid, &p);
	}
	if (p.is_broken) {
		free(p.all);
		return -ENOMEM;
	}
	if (p.n)
		qsort(p.all, p.n, sizeof(*p.all), by_pid);
	*pids = p.all;
	return (ssize_t)p.n;
}

bool cgroup_has(const pid_t *pids, size_t n, pid_t pid)
{
	return n && bsearch(&pid, pids, n, sizeof(*pids), by_pid);
}

/* ---- freezing ---- */

int cgroup_freeze(struct cgroup *g, bool is_frozen)
{
	const char *text = is_frozen ? "1" : "0";

	if (g->form == CGROUP_NONE)
		return descendants_signal(g->step, is_frozen ? SIGSTOP : SIGCONT);
	if (g->form == CGROUP_V1)
		text = is_frozen ? "FROZEN" : "THAWED";
	return pwrite(g->freezer, text, strlen(text), 0) < 0 ? -errno : 0;
}

bool cgroup_is_frozen(const struct cgroup *g)
{
	char text[256];
	ssize_t n;

	if (g->form == CGROUP_NONE)
		return descendants_is_stopped(g->step);
	n = pread(g->state, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return g->form == CGROUP_V1 ? !strncmp(text, "FROZEN", 6)
				    : strstr(text, "frozen 1") != NULL;
}

/* ---- how many ---- */

int cgroup_limit(struct cgroup *g, uint32_t tasks)
{
	return g->form == CGROUP_NONE ? -EOPNOTSUPP
				      : limit_set(g->pids[0] ? g->pids : g->path, tasks);
}

int cgroup_limit_memory(struct cgroup *g, uint64_t bytes)
{
	int err = g->form == CGROUP_NONE
			  ? -EOPNOTSUPP
			  : limit_set_memory(g->memory[0] ? g->memory : g->path, bytes);

	g->is_memory_held |= !err;
	return err;
}

bool cgroup_memory_kills(const struct cgroup *g, char *path, size_t size)
{
	return g->form != CGROUP_NONE &&
	       limit_kills_path(g->memory[0] ? g->memory : g->path, path, size);
}

/* ---- the end ---- */

static int kill_leaf(struct cgroup *g, const char *leaf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", g->path, leaf);
	hierarchy_kill(g->form, path);
	return 0;
}

int cgroup_kill(struct cgroup *g)
{
	if (g->form == CGROUP_NONE)
		return descendants_signal(g->step, SIGKILL);
	/*
	 * A task frozen by v1 is not killed before it is thawed; it may leave no child behind until
	 * it is.
	 */
	if (g->form == CGROUP_V1) {
		cgroup_limit(g, 0);
		cgroup_freeze(g, false);
	}
	return kill_leaf(g, "ranks");
}

int cgroup_kill_all(struct cgroup *g)
{
	int err = cgroup_kill(g);

	if (g->form != CGROUP_NONE)
		return kill_leaf(g, "step");
	if (g->step > 0)
		kill(g->step, SIGKILL);
	return err;
}

static bool is_leaf_empty(const struct cgroup *g, const char *leaf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", g->path, leaf);
	return hierarchy_is_empty(g->form, path);
}

bool cgroup_is_empty(const struct cgroup *g)
{
	return g->form == CGROUP_NONE ? !descendants_count(g->step) : is_leaf_empty(g, "ranks");
}

bool cgroup_is_deserted(const struct cgroup *g)
{
	if (g->form == CGROUP_NONE)
		return !descendants_count(g->step) && (g->step <= 0 || kill(g->step, 0));
	return is_leaf_empty(g, "ranks") && is_leaf_empty(g, "step");
}

uint64_t cgroup_cpu_ns(const struct cgroup *g)
{
	char path[PATH_MAX], text[256];
	const char *at;

	if (g->form == CGROUP_NONE)
		return descendants_cpu_ns(g->step);
	if (g->form == CGROUP_V1) {
		snprintf(path, sizeof(path), "%s/ranks/cpuacct.usage", g->cpu);
		hierarchy_read(path, text, sizeof(text));
		return strtoull(text, NULL, 10);
	}
	leaf_file(g, "ranks", "cpu.stat", path, sizeof(path));
	hierarchy_read(path, text, sizeof(text));
	at = strstr(text, "usage_usec ");
	return at ? strtoull(at + strlen("usage_usec "), NULL, 10) * 1000 : 0;
}

void cgroup_forget(struct cgroup *g)
{
	if (!g)
		return;
	if (g->state >= 0 && g->state != g->freezer)
		close(g->state);
	if (g->freezer >= 0)
		close(g->freezer);
	free(g);
}

int cgroup_remove(struct cgroup *g)
{
	int err = g->form == CGROUP_NONE ? 0 : remove_group(g->path);

	if (err)
		return err;
	remove_beside(g);
	cgroup_forget(g);
	return 0;
}

ssize_t cgroup_list(enum cgroup_form form, const char *parent, uint64_t **ids)
{
	char root[PATH_MAX / 2];
	const struct dirent *entry;
	ssize_t n = 0;
	DIR *dir;

	*ids = NULL;
	if (form == CGROUP_NONE || !hierarchy_root(form, parent, root, sizeof(root)))
		return 0;
	dir = opendir(root);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir))) {
		uint64_t *more;

		if (strncmp(entry->d_name, "job-", 4) != 0 ||
		    !isdigit((unsigned char)entry->d_name[4]))
			continue;
		more = realloc(*ids, ((size_t)n + 1) * sizeof(**ids));
		if (!more) {
			closedir(dir);
			free(*ids);
			return -ENOMEM;
		}
		*ids = more;
		(*ids)[n++] = strtoull(entry->d_name + 4, NULL, 10);
	}
	closedir(dir);
	return n;
}

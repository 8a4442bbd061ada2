// SPDX-License-Identifier: BSD-3-Clause
/* nspace: the keys that PMIx's server is given of a world, and what is left when it refuses. */
#include "scheduler/scstepd/pmix/nspace.h"

#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scstepd/bind.h"
#include "scheduler/scstepd/pmix/infos.h"
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

static struct {
	char dir[64];
	pmix_status_t nspace_status, client_status, fork_status;
	int n_local, n_clients;
	bool is_seen;
	void (*look)(const pmix_info_t *v, size_t n);
} t;

/* ---- PMIx's library, as far as it needs no server ---- */

pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
			     pmix_data_type_t type)
{
	pmix_value_t *value = &info->value;

	PMIX_LOAD_KEY(info->key, key);
	value->type = type == PMIX_REGEX ? PMIX_STRING : type;
	if (value->type == PMIX_STRING) {
		value->data.string = strdup(data);
	} else if (type == PMIX_UINT32) {
		value->data.uint32 = *(const uint32_t *)data;
	} else if (type == PMIX_UINT16) {
		value->data.uint16 = *(const uint16_t *)data;
	} else if (type == PMIX_PROC_RANK) {
		value->data.rank = *(const pmix_rank_t *)data;
	} else if (type == PMIX_BOOL) {
		value->data.flag = *(const bool *)data;
	} else if (ok(type == PMIX_PROC)) {
		value->data.proc = malloc(sizeof(pmix_proc_t));
		*value->data.proc = *(const pmix_proc_t *)data;
	}
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_generate_regex(const char *list, char **ret)
{
	*ret = strdup(list);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_generate_ppn(const char *list, char **ret)
{
	*ret = strdup(list);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t *set, char **ret)
{
	return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t *set, char **ret)
{
	*ret = strdup("NM0");
	return PMIX_SUCCESS;
}

hwloc_const_cpuset_t bind_set(const struct bind *bind, uint32_t slot)
{
	return NULL;
}

pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t nspace, int n_local,
					  pmix_info_t infos[], size_t n, pmix_op_cbfunc_t done,
					  void *arg)
{
	t.n_local = n_local;
	is_str(nspace, worlds_get(&fake.step.worlds, 0)->nspace);
	t.is_seen = true;
	if (t.look)
		t.look(infos, n);
	return t.nspace_status;
}

pmix_status_t PMIx_server_register_client(const pmix_proc_t *proc, uid_t uid, gid_t gid,
					  void *object, pmix_op_cbfunc_t done, void *arg)
{
	is_int(proc->rank, t.n_clients);
	is_int(uid, getuid());
	is_int(gid, getgid());
	t.n_clients++;
	return t.client_status;
}

pmix_status_t PMIx_server_setup_fork(const pmix_proc_t *proc, char ***env)
{
	free(*env);
	*env = calloc(2, sizeof(**env));
	(*env)[0] = strdup("A=1");
	return t.fork_status;
}

/* ---- a job ---- */

/* Two hosts with two ranks each, we are the first. */
static void begin(void)
{
	memset(&t, 0, sizeof(t));
	pmix_open(2, 2);
	snprintf(t.dir, sizeof(t.dir), "/tmp/nspace_test.XXXXXX");
	ok(mkdtemp(t.dir) != NULL);
	fake.step.tmpdir = t.dir;
	fake.small.order.hosts[1].name = (char *)(uintptr_t) "other";
	fake.small.order.key = 0xab;
	fake.small.job.cwd = (char *)(uintptr_t) "/cwd"; /* which each job has */
}

static void finish(void)
{
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/world-0/%d", t.dir, i);
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/world-0", t.dir);
	rmdir(path);
	is_int(rmdir(t.dir), 0);
	pmix_close();
}

static int do_register(char *why, size_t size)
{
	return nspace_register(&fake.step, worlds_get(&fake.step.worlds, 0), why, size);
}

/* The value of a key, which must be there. */
static const pmix_value_t *value_of(const pmix_info_t *v, size_t n, const char *key)
{
	static const pmix_value_t none;
	const pmix_value_t *value = infos_find(v, n, key);

	okf(value != NULL, "%s is not there", key);
	return value ? value : &none;
}

/* The array number @which of that key; its size in *@n. */
static const pmix_info_t *part_of(const pmix_info_t *v, size_t n, const char *key, int which,
				  size_t *ret_n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].key, key) && !which--) {
			*ret_n = v[i].value.data.darray->size;
			return v[i].value.data.darray->array;
		}
	*ret_n = 0;
	return NULL;
}

static void look_at_job(const pmix_info_t *v, size_t n)
{
	is_int(value_of(v, n, PMIX_JOB_SIZE)->data.uint32, 4);
	is_int(value_of(v, n, PMIX_UNIV_SIZE)->data.uint32, 4);
	is_int(value_of(v, n, PMIX_NUM_NODES)->data.uint32, 2);
	is_int(value_of(v, n, PMIX_JOB_NUM_APPS)->data.uint32, 2);
	is_int(value_of(v, n, PMIX_LOCAL_SIZE)->data.uint32, 2);
	is_str(value_of(v, n, PMIX_NODE_MAP)->data.string, "host,other");
	is_str(value_of(v, n, PMIX_PROC_MAP)->data.string, "0,1;2,3");
	is_str(value_of(v, n, PMIX_LOCAL_PEERS)->data.string, "0,1");
	is_int(value_of(v, n, PMIX_LOCALLDR)->data.rank, 0);
	is_str(value_of(v, n, PMIX_CREDENTIAL)->data.string, "00000000000000ab-0000000000011170");
	ok(!value_of(v, n, PMIX_NODE_OVERSUBSCRIBED)->data.flag);
	ok(!infos_find(v, n, PMIX_DEBUG_STOP_IN_INIT));
	ok(!infos_find(v, n, PMIX_SPAWNED));
}

TAP_TEST(nspace_register__the_job)
{
	char why[256] = "";
	struct stat st;
	char path[128];

	begin();
	t.look = look_at_job;
	is_int(do_register(why, sizeof(why)), 0);
	ok(t.is_seen);
	is_int(t.n_local, 2);
	is_int(t.n_clients, 2);
	snprintf(path, sizeof(path), "%s/world-0/1", t.dir);
	ok(!stat(path, &st) && S_ISDIR(st.st_mode));
	is_int(st.st_mode & 0777, 0700);
	finish();
}

static void look_at_hosts(const pmix_info_t *v, size_t n)
{
	size_t size;
	const pmix_info_t *part = part_of(v, n, PMIX_NODE_INFO_ARRAY, 1, &size);

	is_str(value_of(part, size, PMIX_HOSTNAME)->data.string, "other");
	is_int(value_of(part, size, PMIX_NODEID)->data.uint32, 1);
	is_int(value_of(part, size, PMIX_LOCALLDR)->data.rank, 2);
	is_str(value_of(part, size, PMIX_LOCAL_PEERS)->data.string, "2,3");
	ok(!part_of(v, n, PMIX_NODE_INFO_ARRAY, 2, &size));
	part = part_of(v, n, PMIX_APP_INFO_ARRAY, 1, &size);
	is_int(value_of(part, size, PMIX_APPNUM)->data.uint32, 1);
	is_int(value_of(part, size, PMIX_APP_SIZE)->data.uint32, 1);
	is_int(value_of(part, size, PMIX_APPLDR)->data.rank, 3);
	is_str(value_of(part, size, PMIX_APP_ARGV)->data.string, "prog");
	is_str(value_of(part, size, PMIX_WDIR)->data.string, "/cwd");
}

TAP_TEST(nspace_register__hosts_and_programs)
{
	char why[256] = "";

	begin();
	t.look = look_at_hosts;
	is_int(do_register(why, sizeof(why)), 0);
	ok(t.is_seen);
	finish();
}

static void look_at_ranks(const pmix_info_t *v, size_t n)
{
	char dir[128];
	size_t size;
	const pmix_info_t *part = part_of(v, n, PMIX_PROC_DATA, 1, &size);

	/* PMIx wants the rank in front. */
	is_str(part[0].key, PMIX_RANK);
	is_int(part[0].value.data.rank, 1);
	is_int(value_of(part, size, PMIX_LOCAL_RANK)->data.uint16, 1);
	is_int(value_of(part, size, PMIX_APPNUM)->data.uint32, 0);
	snprintf(dir, sizeof(dir), "%s/world-0/1", t.dir);
	is_str(value_of(part, size, PMIX_PROCDIR)->data.string, dir);
	is_str(value_of(part, size, PMIX_LOCALITY_STRING)->data.string, "NM0");
	ok(!infos_find(part, size, PMIX_CPUSET));
	part = part_of(v, n, PMIX_PROC_DATA, 3, &size);
	is_int(part[0].value.data.rank, 3);
	is_int(value_of(part, size, PMIX_LOCAL_RANK)->data.uint16, 1);
	is_int(value_of(part, size, PMIX_NODEID)->data.uint32, 1);
	is_int(value_of(part, size, PMIX_APPNUM)->data.uint32, 1);
	is_int(value_of(part, size, PMIX_APP_RANK)->data.rank, 0);
	is_int(value_of(part, size, PMIX_REINCARNATION)->data.uint32, 3);
	is_str(value_of(part, size, "openscore.coords")->data.string, "4,5");
	ok(!infos_find(part, size, PMIX_PROCDIR));
	ok(!part_of(v, n, PMIX_PROC_DATA, 4, &size));
}

TAP_TEST(nspace_register__ranks)
{
	char why[256] = "";

	begin();
	fake.small.order.incarnation = 3;
	fake.small.order.n_dims = 2;
	fake.small.order.hosts[1].at[0] = 4;
	fake.small.order.hosts[1].at[1] = 5;
	t.look = look_at_ranks;
	is_int(do_register(why, sizeof(why)), 0);
	ok(t.is_seen);
	finish();
}

static void look_at_crowd(const pmix_info_t *v, size_t n)
{
	ok(value_of(v, n, PMIX_NODE_OVERSUBSCRIBED)->data.flag);
	is_int(value_of(v, n, PMIX_DEBUG_STOP_IN_INIT)->data.rank, PMIX_RANK_WILDCARD);
	/* No job can have more ranks than this, says Open MPI: never fewer than there are. */
	is_int(value_of(v, n, PMIX_UNIV_SIZE)->data.uint32, 4);
	is_str(value_of(v, n, PMIX_BINDTO)->data.string, "core");
}

TAP_TEST(nspace_register__debugged_bound_and_crowded)
{
	char why[256] = "";

	begin();
	fake.small.job.is_debugged = true;
	fake.small.job.bind = JOB_BIND_CORE;
	fake.small.order.hosts[0].n_cores = 1;
	t.look = look_at_crowd;
	is_int(do_register(why, sizeof(why)), 0);
	ok(t.is_seen);
	finish();
}

TAP_TEST(nspace_register__refused)
{
	char why[256] = "";

	begin();
	t.nspace_status = PMIX_ERR_BAD_PARAM;
	is_int(do_register(why, sizeof(why)), -EIO);
	okf(strstr(why, "host host: PMIx's server refuses"), "%s", why);
	is_int(t.n_clients, 0);
	t.nspace_status = PMIX_OPERATION_SUCCEEDED;
	t.client_status = PMIX_ERR_BAD_PARAM;
	is_int(do_register(why, sizeof(why)), -EIO);
	is_int(t.n_clients, 1);
	finish();
}

TAP_TEST(nspace_register__no_directory)
{
	char why[256] = "", nowhere[] = "/no/such/directory";

	begin();
	fake.step.tmpdir = nowhere;
	is_int(do_register(why, sizeof(why)), -ENOENT);
	okf(strstr(why, nowhere) && strstr(why, "host host"), "%s", why);
	ok(!t.is_seen);
	fake.step.tmpdir = t.dir;
	finish();
}

TAP_TEST(nspace_environment__of_a_rank)
{
	char **env = NULL;

	begin();
	is_int(nspace_environment(worlds_get(&fake.step.worlds, 0), 1, &env), 0);
	must(env != NULL);
	is_str(env[0], "A=1");
	ok(!env[1]);
	free(env[0]);
	free(env);
	env = NULL;
	t.fork_status = PMIX_ERR_NOT_FOUND;
	is_int(nspace_environment(worlds_get(&fake.step.worlds, 0), 1, &env), -EIO);
	ok(!env);
	finish();
}

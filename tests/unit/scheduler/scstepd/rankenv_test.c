// SPDX-License-Identifier: BSD-3-Clause
/* rankenv: whose value counts, and what ranks are told of their job. PMIx is played by the test. */
#include "scheduler/scstepd/rankenv.h"

#include <errno.h>

#include "scheduler/scstepd/algorithms.h"
#include "scheduler/scstepd/pmix/nspace.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

static struct env env;
static struct world *world;
static char *user[8], *program[8]; /* NULL-terminated */
static char slash[] = "/home", tmpdir[] = "/run/tmp";
static int nspace_rc;

int nspace_environment(const struct world *its_world, uint32_t rank, char ***ret)
{
	if (nspace_rc)
		return nspace_rc;
	*ret = calloc(3, sizeof(**ret));
	ok(asprintf(&(*ret)[0], "PMIX_RANK=%u", rank) > 0);
	(*ret)[1] = strdup("PMIX_MCA_gds=hash");
	return 0;
}

const char *algorithms_rules(void)
{
	return "/rules";
}

void algorithms_put(struct env *to, const char *rules)
{
	/* The transport is known by then. */
	env_putf(to, "RULES=%s for %s", rules, env_get(to, "OMPI_MCA_mtl"));
}

/* Two hosts with three ranks each; we are the second. */
static void begin(void)
{
	memset(user, 0, sizeof(user));
	memset(program, 0, sizeof(program));
	nspace_rc = 0;
	fake_open(2, 3);
	fake.step.here = 1;
	fake.step.host = "n2";
	fake.step.tmpdir = tmpdir;
	fake.small.order.key = 0xabc;
	fake.small.order.incarnation = 2;
	fake.small.job.cwd = slash;
	fake.small.job.env = user;
	fake.small.apps[0].env = program;
	world = worlds_get(&fake.step.worlds, 0);
}

static void finish(void)
{
	env_fini(&env);
	fake_close();
}

static void make(void)
{
	env_fini(&env);
	is_int(rankenv_app(&fake.step, world, &fake.small.apps[0], &env), 0);
}

#define has(name, value) is_str(env_get(&env, name), value)

TAP_TEST(rankenv_app__what_a_job_is_told)
{
	begin();
	make();
	has("PWD", "/home");
	has("TMPDIR", "/run/tmp");
	has("SCORE_JOBID", "70000");
	has("SCORE_HOST", "n2");
	has("SCORE_NODES", "2");
	has("SCORE_RANKS", "6");
	has("SCORE_WORLD", "0");
	has("SCORE_RESTARTS", "2");
	has("OMPI_MCA_orte_launch", "1");
	has("OMPI_MCA_orte_precondition_transports", "0000000000000abc-0000000000011170");
	has("OMPI_MCA_mtl", "pm");
	has("JSM_JSRUN_PORT", "0");
	has("RULES", "/rules for pm");
	ok(!env_get(&env, "SCORE_COORDS"));
	ok(!env_get(&env, "SCORE_CART"));
	ok(!env_get(&env, "PM_OPTIONS"));
	finish();
}

/* The user's, then the program's, then ours. */
TAP_TEST(rankenv_app__whose_value_counts)
{
	static char a1[] = "A=user", b1[] = "B=user", jobid[] = "SCORE_JOBID=1", b2[] = "B=program",
		    pwd[] = "PWD=/elsewhere", cwd[] = "/work";

	begin();
	user[0] = a1;
	user[1] = b1;
	user[2] = jobid;
	user[3] = pwd;
	program[0] = b2;
	fake.small.apps[0].cwd = cwd;
	make();
	has("A", "user");
	has("B", "program");
	has("SCORE_JOBID", "70000");
	has("PWD", "/work");
	finish();
}

TAP_TEST(rankenv_app__a_transport_of_the_users_own)
{
	static char mtl[] = "OMPI_MCA_mtl=ofi", pml[] = "OMPI_MCA_pml=ob1",
		    btl[] = "OMPI_MCA_btl=tcp,self", jsm[] = "JSM_JSRUN_PORT=7";

	begin();
	user[0] = pml;
	make();
	ok(!env_get(&env, "OMPI_MCA_mtl"));
	user[0] = btl;
	make();
	ok(!env_get(&env, "OMPI_MCA_mtl"));
	user[0] = mtl;
	user[1] = jsm;
	make();
	has("OMPI_MCA_mtl", "ofi");
	has("JSM_JSRUN_PORT", "7");
	finish();
}

TAP_TEST(rankenv_app__devices_of_the_network)
{
	static char network[] = "udp+shmem", devices[] = "PM_OPTIONS=devices=verbs",
		    options[] = "PM_OPTIONS=window=4,devices=verbs,,trace=/tmp/t";

	begin();
	user[0] = options;
	make();
	has("PM_OPTIONS", "window=4,devices=verbs,,trace=/tmp/t");
	fake.small.job.network = network;
	make();
	has("PM_OPTIONS", "devices=udp+shmem,window=4,trace=/tmp/t");
	is_str(options, "PM_OPTIONS=window=4,devices=verbs,,trace=/tmp/t");
	user[0] = devices;
	make();
	has("PM_OPTIONS", "devices=udp+shmem");
	user[0] = NULL;
	make();
	has("PM_OPTIONS", "devices=udp+shmem");
	finish();
}

TAP_TEST(rankenv_app__place_in_a_hypercrossbar)
{
	begin();
	fake.small.order.n_dims = 3;
	memcpy(fake.small.order.hosts[1].at, (uint32_t[]){3, 1, 20}, 3 * sizeof(uint32_t));
	fake.small.job.n_cart = 2;
	memcpy(fake.small.job.cart, (uint32_t[]){2, 3}, 2 * sizeof(uint32_t));
	make();
	has("SCORE_COORDS", "3,1,20");
	has("SCORE_CART", "2x3");
	/* A world that was spawned has no grid. */
	world->number = 1;
	make();
	has("SCORE_COORDS", "3,1,20");
	ok(!env_get(&env, "SCORE_CART"));
	has("SCORE_WORLD", "1");
	world->number = 0;
	finish();
}

static struct env make_rank(uint32_t number, int pmi)
{
	struct env ret = {0};

	make();
	is_int(rankenv_rank(&fake.step, world, number, pmi, &env, &ret), 0);
	return ret;
}

TAP_TEST(rankenv_rank__its_own)
{
	struct env rank;

	begin();
	rank = make_rank(4, -1);
	is_str(env_get(&rank, "SCORE_RANK"), "4");
	is_str(env_get(&rank, "SCORE_LOCAL_RANK"), "1");
	is_str(env_get(&rank, "PMIX_RANK"), "4");
	is_str(env_get(&rank, "PMIX_MCA_gds"), "hash");
	is_str(env_get(&rank, "SCORE_JOBID"), "70000");
	ok(!env_get(&rank, "PMI_FD") && !env_get(&rank, "PMI_RANK") && !env_get(&rank, "PMI_SIZE"));
	ok(!env_get(&rank, "SCORE_CART_COORDS"));
	ok(!env_get(&env, "SCORE_RANK"));
	env_fini(&rank);
	rank = make_rank(3, 0);
	is_str(env_get(&rank, "PMI_FD"), "0");
	is_str(env_get(&rank, "PMI_RANK"), "3");
	is_str(env_get(&rank, "PMI_SIZE"), "6");
	env_fini(&rank);
	finish();
}

/* PMIx's values win over the user's. */
TAP_TEST(rankenv_rank__what_the_user_says_of_pmix)
{
	static char theirs[] = "PMIX_RANK=77";
	struct env rank;

	begin();
	user[0] = theirs;
	rank = make_rank(5, -1);
	is_str(env_get(&rank, "PMIX_RANK"), "5");
	env_fini(&rank);
	finish();
}

TAP_TEST(rankenv_rank__pmix_has_none)
{
	struct env rank = {0};

	begin();
	nspace_rc = -ENOENT;
	is_int(rankenv_rank(&fake.step, world, 4, -1, &env, &rank), -ENOENT);
	is_int(rank.n, 0);
	finish();
}

/* The last dimension is the fastest, as in MPI_Cart_coords. */
TAP_TEST(rankenv_rank__place_in_the_grid)
{
	static const char *const places[] = {"0,0,0", "0,0,1", "0,0,2", "1,0,0", "1,0,1", "1,0,2"};
	struct env rank;

	begin();
	fake.small.job.n_cart = 3;
	memcpy(fake.small.job.cart, (uint32_t[]){2, 1, 3}, 3 * sizeof(uint32_t));
	for (uint32_t i = 0; i < 6; i++) {
		rank = make_rank(i, -1);
		is_str(env_get(&rank, "SCORE_CART_COORDS"), places[i]);
		env_fini(&rank);
	}
	world->number = 1;
	rank = make_rank(4, -1);
	ok(!env_get(&rank, "SCORE_CART_COORDS"));
	env_fini(&rank);
	world->number = 0;
	finish();
}

TAP_TEST(rankenv_numbers__as_far_as_there_is_room)
{
	static const uint32_t numbers[] = {12, 4294967295u, 3};
	char text[20] = "xxxxxxxxxxxxxxxxxxx";

	rankenv_numbers(numbers, 0, ",", text, sizeof(text));
	is_str(text, "");
	rankenv_numbers(numbers, 3, ", ", text, sizeof(text));
	is_str(text, "12, 4294967295, 3");
	memset(text, 'x', sizeof(text) - 1);
	rankenv_numbers(numbers, 3, ",", text, 8);
	is_str(text, "12,4294");
	is_str(text + 8, "xxxxxxxxxxx");
	rankenv_numbers(numbers, 3, ",", text, 1);
	is_str(text, "");
}

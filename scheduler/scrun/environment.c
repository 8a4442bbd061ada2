// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scrun/environment.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 256 /* longer names match no pattern */

/* Patterns; scrun(1) has the same list. */
static const char *const bound[] = {
	/* this session */
	"SHLVL", "_", "OLDPWD", "PWD", "SSH_*", "GPG_AGENT_INFO", "GPG_TTY", "XDG_RUNTIME_DIR",
	"XDG_SESSION_*", "XDG_SEAT", "XDG_VTNR", "DBUS_*", "WAYLAND_DISPLAY", "WINDOWID", "STY",
	"TMUX", "TMUX_PANE", "COLUMNS", "LINES", "SUDO_*",
	/* this host */
	"HOSTNAME", "HOST", "PM_STATS", "TMPDIR", "TMP", "TEMP", "NOTIFY_SOCKET", "LISTEN_*",
	"INVOCATION_ID", "JOURNAL_STREAM", "MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID",
	/* a job around us; Open MPI's parameters for its users stay */
	"PMIX_*", "PMI_*", "PMI2_*", "PRTE_*", "PRRTE_*", "HYDI_*", "MPI_LOCALRANKID",
	"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "OMPI_APP_CTX_NUM_PROCS",
	"OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_FILE_LOCATION", "OMPI_COMMAND", "OMPI_ARGV",
	"OMPI_MCA_orte_*", "OMPI_MCA_ess*", "OMPI_MCA_pmix*", "OMPI_MCA_initial_wdir",
	"OMPI_MCA_shmem_RUNTIME_*", "SLURM_*", "SLURMD_*", "PBS_*", "FLUX_*", "PALS_*",
	"SCORE_JOBID", "SCORE_HOST", "SCORE_NODES", "SCORE_RANK", "SCORE_RANKS", "SCORE_LOCAL_RANK",
	"SCORE_RESTARTS"};

/* No job's: with Open MPI 5, env.sh of the build tree sets it beside Open MPI's component path. */
static const char kept[] = "PMIX_MCA_mca_base_component_path";

#define N_BOUND (sizeof(bound) / sizeof(bound[0]))

static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0);
}

bool environment_is_bound(const char *name)
{
	if (!strcmp(name, kept))
		return false;
	for (size_t i = 0; i < N_BOUND; i++)
		if (matches(bound[i], name))
			return true;
	return false;
}

/* The name of "NAME=VALUE"; false: it has none that could be handed on. */
static bool name_of(const char *variable, char name[NAME_MAX_BYTES])
{
	size_t n = strcspn(variable, "=");

	if (!n || !variable[n] || n >= NAME_MAX_BYTES)
		return false;
	memcpy(name, variable, n);
	name[n] = 0;
	return true;
}

static void free_all(char **list, size_t n)
{
	while (n)
		free(list[--n]);
	free(list);
}

/* Those of @from that @takes takes. */
static char **copy(char *const *from, bool (*takes)(const char *name, const struct words *words),
		   const struct words *words)
{
	size_t n = 0, room = 0;
	char name[NAME_MAX_BYTES], **list;

	while (from[room])
		room++;
	list = calloc(room + 1, sizeof(*list));
	for (size_t i = 0; list && i < room; i++) {
		if (!name_of(from[i], name) || !takes(name, words))
			continue;
		list[n] = strdup(from[i]);
		if (!list[n++]) {
			free_all(list, n);
			return NULL;
		}
	}
	return list;
}

static bool is_of_job(const char *name, const struct words *no_env)
{
	for (size_t i = 0; i < no_env->n; i++)
		if (matches(no_env->v[i], name))
			return false;
	return !environment_is_bound(name);
}

char **environment_of_job(char *const *from, const struct words *no_env)
{
	return copy(from, is_of_job, no_env);
}

static bool is_named(const char *name, const struct words *env)
{
	for (size_t i = 0; i < env->n; i++)
		if (!strchr(env->v[i], '=') && matches(env->v[i], name))
			return true;
	return false;
}

static bool is_there(char *const *from, const char *wanted)
{
	char name[NAME_MAX_BYTES];

	for (; *from; from++)
		if (name_of(*from, name) && !strcmp(name, wanted))
			return true;
	return false;
}

/* Variables given as NAME=VALUE go behind those copied by name, so that they win. */
static char **append(char **list, const struct words *env)
{
	size_t n = 0;
	char **more;

	while (list[n])
		n++;
	more = reallocarray(list, n + env->n + 1, sizeof(*more));
	if (!more) {
		free_all(list, n);
		return NULL;
	}
	for (size_t i = 0; i < env->n; i++) {
		if (!strchr(env->v[i], '='))
			continue;
		more[n] = strdup(env->v[i]);
		if (!more[n++]) {
			free_all(more, n);
			return NULL;
		}
	}
	more[n] = NULL;
	return more;
}

char **environment_with(char **list, const char *variable)
{
	struct words words = {&variable, 1};

	return list ? append(list, &words) : NULL;
}

char **environment_of_app(char *const *from, const struct words *env, const char **missing)
{
	char **list = copy(from, is_named, env);

	*missing = NULL;
	for (size_t i = 0; i < env->n && !*missing; i++)
		if (!strchr(env->v[i], '=') && !strchr(env->v[i], '*') &&
		    !is_there(from, env->v[i]))
			*missing = env->v[i];
	return list ? append(list, env) : NULL;
}

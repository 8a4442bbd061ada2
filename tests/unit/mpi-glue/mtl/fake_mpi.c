// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/common/job.h"
#include "opal/runtime/opal.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/arch.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"

struct fake_mpi fake_mpi;

static char host[] = "here";
static ompi_communicator_t comm;
static ompi_group_t group;
static ompi_proc_t procs[FAKE_RANKS], *proc_pointers[FAKE_RANKS];

static int ask(const char *file, const char *topic, int want_header, ...)
{
	fake_mpi.asked = topic;
	return 0;
}

static void publish(const void *bytes, size_t size)
{
	if (ok(size <= sizeof(fake_mpi.published)))
		memcpy(fake_mpi.published, bytes, size);
}

/* The end of a fence that runs. */
static void (*fence_ended)(int status, void *arg);
static void *fence_arg;

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/accelerator/accelerator.h"

typedef int header_wish; /* of opal_show_help_vstring() */

struct fake_pmix fake_pmix;

static pmix_status_t give(pmix_data_type_t type, pmix_value_t **ret)
{
	PMIX_VALUE_CREATE(*ret, 1);
	(*ret)->type = type;
	return PMIX_SUCCESS;
}

static pmix_status_t give_key(const pmix_proc_t *proc, const pmix_info_t *info, size_t n_info,
			      pmix_value_t **ret)
{
	is_int(proc->rank, 0);
	if (is_int(n_info, 1) && PMIX_CHECK_KEY(info, PMIX_TIMEOUT))
		fake_pmix.timeout = info->value.data.integer;
	if (!fake_pmix.job || strcmp(proc->nspace, fake_pmix.job))
		return PMIX_ERR_TIMEOUT;
	give(fake_pmix.key_type ? fake_pmix.key_type : PMIX_UINT64, ret);
	(*ret)->data.uint64 = fake_pmix.key;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
		       size_t n_info, pmix_value_t **value)
{
	if (!strcmp(key, "openscore.mtl.pm.key"))
		return give_key(proc, info, n_info, value);
	if (!strcmp(key, PMIX_PARENT_ID) && fake_pmix.parent) {
		give(PMIX_PROC, value);
		PMIX_PROC_CREATE((*value)->data.proc, 1);
		PMIX_LOAD_PROCID((*value)->data.proc, fake_pmix.parent, 3);
		return PMIX_SUCCESS;
	}
	if (!strcmp(key, PMIX_CREDENTIAL) && fake_pmix.credential) {
		give(PMIX_STRING, value);
		(*value)->data.string = strdup(fake_pmix.credential);
		return PMIX_SUCCESS;
	}
	return PMIX_ERR_NOT_FOUND;
}

/* Without names that are numbers Open MPI keeps both halves in the id. */
int opal_pmix_convert_jobid(pmix_nspace_t name, opal_jobid_t job)
{
	if (!fake_pmix.names_jobs)
		return OPAL_ERR_NOT_FOUND;
	snprintf(name, PMIX_MAX_NSLEN, "%u", job & ~FAKE_HASH);
	return OPAL_SUCCESS;
}

int opal_pmix_convert_nspace(opal_jobid_t *job, pmix_nspace_t name)
{
	*job = (opal_jobid_t)strtoul(name, NULL, 10) | FAKE_HASH;
	return OPAL_SUCCESS;
}

/* Open MPI is never finalized. */
void opal_finalize_append_cleanup(opal_cleanup_fn_t cleanup, const char *name, void *arg)
{
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
	if (fake_mpi.publish_error)
		return PMIX_ERROR;
	fake_pmix.scope = scope;
	if (value->type == PMIX_BYTE_OBJECT) {
		publish(value->data.bo.bytes, value->data.bo.size);
	} else if (is_int(value->type, PMIX_UINT64)) {
		snprintf(fake_pmix.put_name, sizeof(fake_pmix.put_name), "%s", key);
		fake_pmix.put_key = value->data.uint64;
	}
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
	fake_pmix.commits++;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
			    size_t n_info, pmix_op_cbfunc_t ended, void *arg)
{
	fake_mpi.fences++;
	fence_ended = ended;
	fence_arg = arg;
	return PMIX_SUCCESS;
}

static int is_no_card(const void *address, int *ret_device, uint64_t *ret_flags)
{
	return 0;
}

static void know_memory(void)
{
	opal_accelerator.check_addr = is_no_card;
}

static void open_launcher(void)
{
	memset(&fake_pmix, 0, sizeof(fake_pmix));
}

static void set_context(void)
{
	comm.c_index = FAKE_CONTEXT;
}
#else
typedef bool header_wish;

static int get_nothing(const opal_process_name_t *proc, const char *key, opal_list_t *info,
		       opal_value_t **value)
{
	return OPAL_ERR_NOT_FOUND;
}

static int put(opal_pmix_scope_t scope, opal_value_t *value)
{
	if (fake_mpi.publish_error)
		return fake_mpi.publish_error;
	publish(value->data.bo.bytes, value->data.bo.size);
	return OPAL_SUCCESS;
}

static int fence(opal_list_t *procs, int collects, opal_pmix_op_cbfunc_t ended, void *arg)
{
	fake_mpi.fences++;
	fence_ended = ended;
	fence_arg = arg;
	return OPAL_SUCCESS;
}

static void know_memory(void)
{
}

static void open_launcher(void)
{
	opal_pmix.get = get_nothing;
	opal_pmix.put = put;
	opal_pmix.fence_nb = fence;
}

static void set_context(void)
{
	comm.c_contextid = FAKE_CONTEXT;
}
#endif

struct ompi_communicator_t *fake_start(void)
{
	memset(&fake_mpi, 0, sizeof(fake_mpi));
	memset(procs, 0, sizeof(procs));
	open_launcher();
	opal_show_help = ask;
	ompi_process_info.nodename = host;
	*OMPI_PROC_MY_NAME = (opal_process_name_t){.jobid = 0, .vpid = FAKE_SELF};
	for (int i = 0; i < FAKE_RANKS; i++) {
		procs[i].super.proc_name.vpid = (opal_vpid_t)i;
		proc_pointers[i] = &procs[i];
	}
	group.grp_proc_count = FAKE_RANKS;
	group.grp_my_rank = FAKE_SELF;
	group.grp_proc_pointers = proc_pointers;
	comm.c_local_group = comm.c_remote_group = &group;
	comm.c_my_rank = FAKE_SELF;
	comm.c_pml_comm = NULL;
	set_context();
	return &comm;
}

struct ompi_communicator_t *fake_open_comm(const char *device)
{
	fake_open(device);
	fake_start();
	is_int(mtl_pm_add_comm(&mtl_pm.super, &comm), 0);
	return &comm;
}

void fake_close_comm(struct ompi_communicator_t *c)
{
	is_int(mtl_pm_del_comm(&mtl_pm.super, c), 0);
	fake_close();
}

void fake_make_foreign(int rank)
{
	procs[rank].super.proc_name.jobid = 1u << 16;
}

bool fake_ends_job(void (*call)(void))
{
	jmp_buf back;
	bool it_does = true;

	*fake_mpi.why = '\0';
	fake_mpi.at_fatal = back;
	if (!setjmp(back)) {
		call();
		it_does = false;
	}
	fake_mpi.at_fatal = NULL;
	return it_does;
}

/* ---- data ---- */

static const opal_convertor_t *model(void)
{
	static opal_convertor_t *made;

	if (!made) {
		know_memory();
		opal_arch_init();
		opal_datatype_init();
		made = opal_convertor_create((int32_t)opal_local_arch, 0);
	}
	return made;
}

struct opal_datatype_t *fake_type(void)
{
	model();
	return opal_datatype_create(16);
}

struct opal_datatype_t *fake_vector(size_t blocks, size_t block, ptrdiff_t stride)
{
	struct opal_datatype_t *one = fake_type(), *all = fake_type();

	opal_datatype_add(one, &opal_datatype_uint1, block, 0, 1);
	opal_datatype_add(all, one, blocks, 0, stride);
	opal_datatype_commit(all);
	opal_datatype_destroy(&one);
	return all;
}

void fake_pack(struct opal_convertor_t *c, const struct opal_datatype_t *type, size_t count,
	       const void *memory)
{
	OBJ_CONSTRUCT(c, opal_convertor_t);
	is_int(opal_convertor_copy_and_prepare_for_send(model(), type, count, memory, 0, c), 0);
}

void fake_unpack(struct opal_convertor_t *c, const struct opal_datatype_t *type, size_t count,
		 void *memory)
{
	OBJ_CONSTRUCT(c, opal_convertor_t);
	is_int(opal_convertor_copy_and_prepare_for_recv(model(), type, count, memory, 0, c), 0);
}

void fake_pack_bytes(struct opal_convertor_t *c, const void *memory, size_t bytes)
{
	model();
	fake_pack(c, &opal_datatype_uint1, bytes, memory);
}

/* ---- requests ---- */

static void count(struct mca_mtl_request_t *req)
{
	fake_mpi.n_callbacks++;
}

void fake_prepare_request(struct mtl_pm_request *req, struct ompi_request_t *ompi)
{
	memset(req, 0, sizeof(*req));
	memset(ompi, 0, sizeof(*ompi));
	req->super.ompi_req = ompi;
	req->super.completion_callback = count;
}

/* ---- of Open MPI itself: the program's own functions come before those of its libraries ---- */

void ompi_rte_abort(int code, char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fake_mpi.why, sizeof(fake_mpi.why), format, args);
	va_end(args);
	if (fake_mpi.at_fatal)
		longjmp(fake_mpi.at_fatal, 1);
	fprintf(stderr, "# the job was ended: %s\n", fake_mpi.why);
	_Exit(code);
}

static void poll_once(void)
{
	fake_mpi.progress_calls++;
	if (fake_mpi.on_progress)
		fake_mpi.on_progress();
	if (fence_ended)
		fence_ended(0, fence_arg);
	fence_ended = NULL;
}

#if OMPI_MAJOR_VERSION >= 5
int opal_progress(void)
{
	poll_once();
	return 0;
}
#else
void opal_progress(void)
{
	poll_once();
}
#endif

int opal_progress_register(opal_progress_callback_t progress)
{
	ok(!fake_mpi.progress);
	fake_mpi.progress = progress;
	return OPAL_SUCCESS;
}

int opal_progress_unregister(opal_progress_callback_t progress)
{
	ok(fake_mpi.progress == progress);
	fake_mpi.progress = NULL;
	return OPAL_SUCCESS;
}

char *opal_show_help_vstring(const char *file, const char *topic, header_wish header, va_list args)
{
	char *text;

	is_str(file, "help-mtl-pm.txt");
	return asprintf(&text, "%s: %s", topic, va_arg(args, const char *)) < 0 ? NULL : text;
}

void opal_output(int id, const char *format, ...)
{
	size_t used = strlen(fake_mpi.said), room = sizeof(fake_mpi.said) - used;
	va_list args;

	va_start(args, format);
	vsnprintf(fake_mpi.said + used, room, format, args);
	va_end(args);
	strncat(fake_mpi.said, "\n", sizeof(fake_mpi.said) - strlen(fake_mpi.said) - 1);
}

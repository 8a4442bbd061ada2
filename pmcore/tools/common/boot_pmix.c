// SPDX-License-Identifier: BSD-3-Clause
/*
 * boot_pmix - a client of the PMIx server that started us. Rank 0 draws the job's key; after a
 * first fence all have it, after a second one all addresses are known to the servers, and each is
 * fetched when its node is first contacted. PMIx's thread only posts that a fence is over.
 */
#include <errno.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pm.h"
#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"

#define KEY_NAME "openscore.tools.key"
#define ADDRESS_NAME "openscore.tools.address"

struct client {
	struct boot boot;
	pmix_proc_t self;             /* our name */
	uint8_t addr[PM_ADDRESS_MAX]; /* the one last looked up */
};

static int to_errno(pmix_status_t status)
{
	switch (status) {
	case PMIX_ERR_NOT_FOUND:
		return -EHOSTUNREACH;
	case PMIX_ERR_TIMEOUT:
		return -ETIMEDOUT;
	case PMIX_ERR_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

static int failed(const char *what, pmix_status_t status)
{
	message_error("PMIx: %s: %s", what, PMIx_Error_string(status));
	return to_errno(status);
}

bool boot_pmix_is_offered(void)
{
	return getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

/* A number that the server knows of @proc. */
static int get_count(const pmix_proc_t *proc, const char *name, uint32_t *ret_value)
{
	pmix_value_t *value;
	pmix_status_t status;

	status = PMIx_Get(proc, name, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return to_errno(status);
	if (value->type == PMIX_UINT32)
		*ret_value = value->data.uint32;
	status = value->type == PMIX_UINT32 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
	PMIX_VALUE_RELEASE(value);
	return status == PMIX_SUCCESS ? 0 : to_errno(status);
}

/* Puts bytes for everybody; they travel with the next fence. */
static int put_bytes(const char *name, const void *bytes, size_t len)
{
	pmix_byte_object_t object = {.bytes = (char *)(uintptr_t)bytes, .size = len};
	pmix_value_t value;
	pmix_status_t status;

	PMIX_VALUE_CONSTRUCT(&value);
	value.type = PMIX_BYTE_OBJECT;
	value.data.bo = object;
	status = PMIx_Put(PMIX_GLOBAL, name, &value); /* copies */
	if (status == PMIX_SUCCESS)
		status = PMIx_Commit();
	return status == PMIX_SUCCESS ? 0 : failed(name, status);
}

static int get_bytes(const pmix_proc_t *proc, const char *name, void *buf, size_t room,
		     size_t *ret_len)
{
	int limit = BOOT_WAIT_MS / 1000;
	pmix_value_t *value;
	pmix_status_t status;
	pmix_info_t info;
	int rc = 0;

	PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
	status = PMIx_Get(proc, name, &info, 1, &value);
	PMIX_INFO_DESTRUCT(&info);
	if (status != PMIX_SUCCESS) {
		message_error("PMIx: %s of rank %u: %s", name, proc->rank,
			      PMIx_Error_string(status));
		return to_errno(status);
	}
	if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size > room) {
		message_error("PMIx: %s of rank %u: %zu bytes of type %u, not at most %zu bytes",
			      name, proc->rank, value->data.bo.size, value->type, room);
		rc = -EPROTO;
	} else {
		memcpy(buf, value->data.bo.bytes, value->data.bo.size);
		*ret_len = value->data.bo.size;
	}
	PMIX_VALUE_RELEASE(value);
	return rc;
}

/*
 * Servers need not honour a time limit, so we have our own. Static: an answer that comes after we
 * gave up still finds its place.
 */
static struct {
	sem_t came;
	pmix_status_t status;
} answer;

static void on_fence(pmix_status_t status, void *arg)
{
	answer.status = status;
	sem_post(&answer.came);
}

/* 0, -ETIMEDOUT, or -EINTR when a signal came. */
static int wait_for_answer(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += BOOT_WAIT_MS / 1000;
	if (sem_clockwait(&answer.came, CLOCK_MONOTONIC, &until) == 0)
		return 0;
	if (errno == ETIMEDOUT)
		message_error("some processes of the job are silent: they did not come within %d s",
			      BOOT_WAIT_MS / 1000);
	return -errno;
}

static int fence(struct client *client, bool with_data)
{
	pmix_proc_t everybody;
	pmix_info_t info;
	pmix_status_t status;
	int rc;

	PMIX_PROC_LOAD(&everybody, client->self.nspace, PMIX_RANK_WILDCARD);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &with_data, PMIX_BOOL);
	sem_init(&answer.came, 0, 0);
	status = PMIx_Fence_nb(&everybody, 1, &info, 1, on_fence, NULL);
	rc = status == PMIX_SUCCESS ? wait_for_answer() : 0;
	PMIX_INFO_DESTRUCT(&info);
	if (rc)
		return rc;
	if (status == PMIX_SUCCESS)
		status = answer.status;
	else if (status == PMIX_OPERATION_SUCCEEDED)
		status = PMIX_SUCCESS;
	return status == PMIX_SUCCESS ? 0 : failed("meeting the other processes", status);
}

static int publish(struct boot *boot, const void *addr, size_t len)
{
	int rc = put_bytes(ADDRESS_NAME, addr, len);

	return rc ? rc : fence((struct client *)boot, true);
}

static int lookup(struct boot *boot, uint32_t node, const void **ret_addr, size_t *ret_len)
{
	struct client *client = (struct client *)boot;
	pmix_proc_t proc;
	int rc;

	if (node >= boot->nodes)
		return -EHOSTUNREACH;
	PMIX_PROC_LOAD(&proc, client->self.nspace, node);
	rc = get_bytes(&proc, ADDRESS_NAME, client->addr, sizeof(client->addr), ret_len);
	if (!rc)
		*ret_addr = client->addr;
	return rc;
}

static int barrier(struct boot *boot)
{
	return fence((struct client *)boot, false);
}

/* The launcher ends the job when a process dies; nothing is told to the others before. */
static bool is_gone(struct boot *boot, uint32_t node)
{
	return false;
}

static void close_client(struct boot *boot, bool is_clean)
{
	/*
	 * Without it the server takes our end for a crash, which is right when the job went wrong.
	 */
	if (is_clean)
		PMIx_Finalize(NULL, 0);
	free(boot);
}

static const struct boot_ops ops = {publish, lookup, barrier, is_gone, close_client};

static int share_key(struct client *client)
{
	uint64_t *key = &client->boot.key;
	pmix_proc_t first;
	size_t len;
	int rc = 0;

	if (client->boot.self == 0) {
		rc = boot_random(key);
		if (!rc)
			rc = put_bytes(KEY_NAME, key, sizeof(*key));
	}
	if (!rc)
		rc = fence(client, true);
	if (rc || client->boot.self == 0)
		return rc;
	PMIX_PROC_LOAD(&first, client->self.nspace, 0);
	rc = get_bytes(&first, KEY_NAME, key, sizeof(*key), &len);
	return !rc && len != sizeof(*key) ? -EPROTO : rc;
}

int boot_pmix_open(struct boot **ret_boot)
{
	struct client *client = calloc(1, sizeof(*client));
	pmix_proc_t everybody;
	pmix_status_t status;
	int rc;

	if (!client)
		return -ENOMEM;
	status = PMIx_Init(&client->self, NULL, 0);
	if (status != PMIX_SUCCESS) {
		rc = failed("PMIx_Init (PMIX_NAMESPACE is set; is its server gone?)", status);
		free(client);
		return rc;
	}
	client->boot.ops = &ops;
	client->boot.self = client->self.rank;
	PMIX_PROC_LOAD(&everybody, client->self.nspace, PMIX_RANK_WILDCARD);
	rc = get_count(&everybody, PMIX_JOB_SIZE, &client->boot.nodes);
	if (rc)
		message_error("PMIx: the server does not tell the size of the job");
	else
		rc = share_key(client);
	if (rc) {
		close_client(&client->boot, false);
		return rc;
	}
	/* A hint only: 0 is fine. */
	if (get_count(&everybody, PMIX_LOCAL_SIZE, &client->boot.local))
		client->boot.local = 0;
	*ret_boot = &client->boot;
	return 0;
}

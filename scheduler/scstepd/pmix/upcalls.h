/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upcalls - what the files of this directory put into PMIx's table of callbacks, and what they are
 * told by the tree. Upcalls run in PMIx's thread: they copy, post and return. Everything else runs
 * in the loop.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_UPCALLS_H
#define SCHEDULER_SCSTEPD_PMIX_UPCALLS_H

#include <jansson.h>
#include <pmix.h>
#include <pmix_server.h>

#include "scheduler/scstepd/step.h"

/* fence.c */
pmix_status_t fence_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
			   size_t n_info, char *data, size_t size, pmix_modex_cbfunc_t done,
			   void *arg);
pmix_status_t connect_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
			     size_t n_info, pmix_op_cbfunc_t done, void *arg);
pmix_status_t disconnect_upcall(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
				size_t n_info, pmix_op_cbfunc_t done, void *arg);

/* dmodex.c */
pmix_status_t modex_upcall(const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info,
			   pmix_modex_cbfunc_t done, void *arg);
void modex_asked(struct step *step, size_t from, const json_t *head);
void modex_answered(struct step *step, const json_t *head, const char *body, size_t size);

/* publish.c; the *_asked at the root only */
pmix_status_t publish_upcall(const pmix_proc_t *proc, const pmix_info_t info[], size_t n,
			     pmix_op_cbfunc_t done, void *arg);
pmix_status_t lookup_upcall(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
			    size_t n, pmix_lookup_cbfunc_t done, void *arg);
pmix_status_t unpublish_upcall(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
			       size_t n, pmix_op_cbfunc_t done, void *arg);
void publish_told(struct step *step, const char *op, size_t from, const json_t *head,
		  const char *body, size_t size);
void publish_close(void);

/* spawn.c */
pmix_status_t spawn_upcall(const pmix_proc_t *proc, const pmix_info_t job[], size_t n_job,
			   const pmix_app_t apps[], size_t n_apps, pmix_spawn_cbfunc_t done,
			   void *arg);

/* An answer of the root (OP_ANSWER) to a publish, lookup, unpublish or spawn from here. */
void ask_answered(struct step *step, const json_t *head, const char *body, size_t size);

/* event.c */
pmix_status_t connected_upcall(const pmix_proc_t *proc, void *object, pmix_info_t info[],
			       size_t n_info, pmix_op_cbfunc_t done, void *arg);
pmix_status_t finalized_upcall(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
			       void *arg);
pmix_status_t abort_upcall(const pmix_proc_t *proc, void *object, int status, const char text[],
			   pmix_proc_t procs[], size_t n, pmix_op_cbfunc_t done, void *arg);
pmix_status_t register_events_upcall(pmix_status_t *codes, size_t n_codes, const pmix_info_t info[],
				     size_t n_info, pmix_op_cbfunc_t done, void *arg);
pmix_status_t deregister_events_upcall(pmix_status_t *codes, size_t n_codes, pmix_op_cbfunc_t done,
				       void *arg);
pmix_status_t notify_upcall(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
			    pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done, void *arg);
void event_told(struct step *step, const json_t *head, const char *body, size_t size);

/* debug.c */
/*
 * Has ranks that wait for their debugger say so; once, before there are any. Waits for PMIx's
 * thread.
 */
pmix_status_t debug_listen(void);
/* The debugger has seen the ranks. Twice is fine. */
void debug_release(const struct step *step);

/* query.c */
pmix_status_t query_upcall(pmix_proc_t *proc, pmix_query_t *queries, size_t n,
			   pmix_info_cbfunc_t done, void *arg);
pmix_status_t job_control_upcall(const pmix_proc_t *from, const pmix_proc_t targets[],
				 size_t n_targets, const pmix_info_t info[], size_t n_info,
				 pmix_info_cbfunc_t done, void *arg);
void log_upcall(const pmix_proc_t *client, const pmix_info_t data[], size_t n_data,
		const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done, void *arg);

#endif

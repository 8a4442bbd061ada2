/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl_pm_compat - what Open MPI 4.1 and 5.0 want of a BTL in different forms. The only file of the
 * BTL that looks at the version.
 */
#ifndef BTL_PM_COMPAT_H
#define BTL_PM_COMPAT_H

#include "ompi_config.h"

#include "opal/mca/btl/btl.h"

#if OMPI_MAJOR_VERSION >= 5
#define BTL_PM_BASE_VERSION MCA_BTL_BASE_VERSION_3_3_0
#define BTL_PM_FLAG_REMOTE_COMPLETION MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION
#else
#define BTL_PM_BASE_VERSION MCA_BTL_BASE_VERSION_3_1_0
/* Open MPI 4.1 supposes it. */
#define BTL_PM_FLAG_REMOTE_COMPLETION 0
#endif

/* Open MPI's function for messages of that tag takes one; the bytes stay the caller's. */
static inline void btl_pm_hand_over(mca_btl_base_module_t *btl,
				    struct mca_btl_base_endpoint_t *endpoint,
				    mca_btl_base_tag_t tag, mca_btl_base_segment_t *segment)
{
	const mca_btl_active_message_callback_t *callback =
		&mca_btl_base_active_message_trigger[tag];

	if (!callback->cbfunc)
		return;
#if OMPI_MAJOR_VERSION >= 5
	callback->cbfunc(btl, &(mca_btl_base_receive_descriptor_t){.endpoint = endpoint,
								   .des_segments = segment,
								   .des_segment_count = 1,
								   .tag = tag,
								   .cbdata = callback->cbdata});
#else
	(void)endpoint;
	callback->cbfunc(btl, tag,
			 &(mca_btl_base_descriptor_t){.des_segments = segment,
						      .des_segment_count = 1},
			 callback->cbdata);
#endif
}

#endif

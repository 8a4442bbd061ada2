/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object - where the compiled kernel programs lie. The link step defines it (mk/rules.mk): a
 * program in the build tree names the object there, an installed one the installed object.
 */
#ifndef PM_ETHERNET_OBJECT_H
#define PM_ETHERNET_OBJECT_H

extern const char eth_bpf_object[];    /* absolute path of pm_ethernet.bpf.o, for XDP */
extern const char eth_bpf_object_tc[]; /* absolute path of pm_ethernet_tc.bpf.o */

#endif

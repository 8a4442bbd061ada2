# SPDX-License-Identifier: BSD-3-Clause
scremote_NEEDS := jansson ev.h munge.h

# SPDX-License-Identifier: BSD-3-Clause
"""Reads scheduler/proto/messages.def, for all that is made of it."""

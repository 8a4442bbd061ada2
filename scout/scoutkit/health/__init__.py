# SPDX-License-Identifier: BSD-3-Clause
"""health - what sceptic is made of: asks hosts how they are, and judges what they say."""

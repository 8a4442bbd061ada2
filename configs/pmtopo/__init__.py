# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo - the model of a cluster: reads cluster.toml, checks it, resolves it, prints it."""

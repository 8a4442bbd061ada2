# SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack. The sources are a clone of the tree:

    spack repo add packaging/spack
    spack develop --path DIRECTORY_OF_THE_CLONE openscore@0.1.0
"""
from spack.package import MakefilePackage, conflicts, depends_on, license, variant, version


class Openscore(MakefilePackage):
    """Communication layer (PM) and scheduler for clusters of ordinary Linux machines, used by Open MPI."""

    homepage = "https://openscore.example/"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("openmpi", default=True, description="the component mtl/pm of Open MPI")
    variant("ethernet", default=True, description="pm-ethernetd, which gives programs raw Ethernet")
    variant("scheduler", default=True, description="scored, scnoded, scrun and other commands")
    variant("verbs", default=True, description="RDMA; the library itself is looked for at run time")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("pmix")
    # With Open MPI's own headers, which an external one has that was configured --with-devel-headers.
    depends_on("openmpi@4.1:", when="+openmpi")
    depends_on("llvm+clang", when="+ethernet", type="build")
    depends_on("libbpf", when="+ethernet")
    depends_on("jansson")
    depends_on("libev", when="+scheduler")
    depends_on("munge", when="+scheduler")
    depends_on("libsodium", when="+scheduler")
    depends_on("hwloc", when="+scheduler")
    depends_on("nettle", when="+scheduler")
    depends_on("sqlite", when="+scheduler")
    depends_on("rdma-core", when="+verbs", type="build")

    conflicts("platform=darwin", msg="PM runs on Linux")
    conflicts("platform=windows", msg="PM runs on Linux")

    @property
    def settings(self):
        """Everything stays below the prefix; libpm's directory is named in what is linked with it."""
        return ["V=1", "WERROR=0", f"PREFIX={self.prefix}", f"LIBDIR={self.prefix.lib}", f"RUNPATH={self.prefix.lib}"]

    @property
    def build_targets(self):
        return [*self.settings, "products"]

    @property
    def install_targets(self):
        return [*self.settings, "install"]

    def setup_run_environment(self, env):
        """mpirun --mca mtl pm finds the component there."""
        if self.spec.satisfies("+openmpi"):
            places = [self.prefix.lib.openmpi, self.spec["openmpi"].prefix.lib.openmpi]
            env.set("OMPI_MCA_mca_base_component_path", ":".join(places))

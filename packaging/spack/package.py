# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe: an MPI for GPUs and hosts, or with ~mpi libheddle alone."""
from spack.package import *


class Heddle(AutotoolsPackage, CudaPackage):
    """An MPI that sends any datatype as it is, from memory of any kind."""

    license("BSD-3-Clause")
    # A clone: spack develop --path DIR heddle@main
    version("main", branch="main", no_cache=True)

    variant("mpi", default=True, description="Build MPICH around the engine")
    variant("fortran", default=True, when="+mpi", description="Fortran bindings")

    provides("mpi@:4.0", when="+mpi")
    conflicts("%gcc@:11", msg="Heddle is C++20")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    for tool in ("autoconf", "automake", "libtool", "m4", "perl", "pkgconfig"):
        depends_on(tool, type="build")
    depends_on("python@3:", type="build")
    # Headers: of heddle-info's --json, and of heddle-explain.
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build")
    depends_on("py-markdown", type="build")
    depends_on("ucx@1.10:", when="+mpi")
    depends_on("hwloc@2:", when="+mpi")
    depends_on("hwloc@2:", when="+cuda")
    depends_on("cuda@12.4:", when="+cuda")

    resource(
        name="mpich",
        url="https://deb.debian.org/debian/pool/main/m/mpich/mpich_4.0.2.orig.tar.xz",
        sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860",
        expand=False,
        placement="mpich-tarball",
        when="+mpi",
    )

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        spec = self.spec
        arguments = self.enable_or_disable("mpi")
        if spec.satisfies("+mpi"):
            arguments += self.enable_or_disable("fortran")
            tarball = join_path(self.stage.source_path, "mpich-tarball", "mpich_4.0.2.orig.tar.xz")
            arguments += [f"--with-mpich={tarball}", f"--with-ucx={spec['ucx'].prefix}"]
            arguments += [f"--with-hwloc={spec['hwloc'].prefix}"]
        if spec.satisfies("+cuda"):
            arguments.append(f"--with-cuda-datatypes={spec['cuda'].prefix}")
            wanted = [f"sm_{arch}" for arch in spec.variants["cuda_arch"].value if arch != "none"]
            if wanted:
                arguments.append(f"--with-cuda-arch={','.join(wanted)}")
        return arguments

    def setup_dependent_package(self, module, dependent_spec):
        for language, name in (("mpicc", "mpicc"), ("mpicxx", "mpicxx"), ("mpifc", "mpifort"), ("mpif77", "mpif77")):
            setattr(self.spec, language, join_path(self.prefix.bin, name))

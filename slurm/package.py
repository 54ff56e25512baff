"""A Spack recipe for your own repository: packages/py-hpcsolve/package.py (Spack 1.0: py_hpcsolve)."""

from spack.package import *


class PyHpcsolve(PythonPackage):
    """Travelling salesman tours, Steiner trees and shortest paths, on several ranks, on CPUs and GPUs."""

    # `spack dev-build py-hpcsolve@0.1.0` in a checkout; or name the archive of a release here:
    # url = "https://.../hpcsolve-0.1.0.tar.gz"
    # version("0.1.0", sha256="...")
    version("0.1.0")

    license("MIT")

    variant("mpi", default=True, description="Several ranks")
    variant("cuda", default=False, description="NVIDIA GPUs")
    variant("plot", default=False, description="Pictures of results")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@68:", type="build")
    depends_on("py-h5py@3.8:", type=("build", "run"))
    depends_on("py-msgspec@0.18:", type=("build", "run"))
    depends_on("py-numpy@1.24:", type=("build", "run"))
    depends_on("py-scipy@1.10:", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-tqdm@4.60:", type=("build", "run"))
    depends_on("py-mpi4py@4:", type=("build", "run"), when="+mpi")
    depends_on("py-pycuda@2022.1:", type=("build", "run"), when="+cuda")
    depends_on("cuda@11.4:", type="run", when="+cuda")
    depends_on("py-matplotlib@3.7:", type=("build", "run"), when="+plot")

    # Kernels are compiled when they are first used, by `g++` on the PATH.
    depends_on("gcc@9:", type="run")

    def test_check(self):
        """Every algorithm, on one rank and on two, against recorded answers: `spack test run py-hpcsolve`."""
        Executable(self.prefix.bin.hpcsolve)("check", "--device", "cpu")

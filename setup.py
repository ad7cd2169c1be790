"""`pip install .` builds the Python package with CMake: bdc_core and the module, no LibTorch. docs/python.md"""
import os
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))


def version():
    with open(os.path.join(HERE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(bdc VERSION ([0-9.]+)", file.read()).group(1)


class BuildByCMake(build_ext):
    def build_extension(self, ext):
        if shutil.which("cmake") is None:
            sys.exit("cmake is not found; packages.txt lists what bdc is built from")
        folder = os.path.abspath(self.build_temp)
        os.makedirs(folder, exist_ok=True)
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.check_call(["cmake", "-S", HERE, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release",
                               "-DBDC_BUILD_HOST=OFF", "-DBDC_BUILD_TESTS=OFF", "-DBDC_BUILD_PYTHON=ON",
                               f"-DPython_EXECUTABLE={sys.executable}", *os.environ.get("CMAKE_ARGS", "").split()])
        subprocess.check_call(["cmake", "--build", folder, "--target", "bdc_python", "-j", str(os.cpu_count() or 1)])
        built = os.path.join(folder, "python", "bdc")
        name = next(n for n in os.listdir(built) if n.startswith("_core") and n.endswith(".so"))
        target = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(built, name), target)


setup(
    name="bdc",
    version=version(),
    description="One consensus of many annotators' boxes, and what each annotator is like",
    python_requires=">=3.9",
    install_requires=["numpy"],
    package_dir={"": "python"},
    packages=["bdc", "bdc.integrations"],
    package_data={"bdc": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("bdc._core", [])],
    cmdclass={"build_ext": BuildByCMake},
)

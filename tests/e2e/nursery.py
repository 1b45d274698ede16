"""
The process that servers and commands are forked from: it has imported everything, and has run nothing.

It takes orders from the socket whose file descriptor is its argument: JSON of `Order`, with the files that
become the standard streams. A fourth file gets the exit code. It answers each with the id of the new process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import gc
import importlib
import json
import logging
import os
import pkgutil
import signal
import socket
import sys
import threading
import traceback
import typing
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import attrs
import cattrs
import dulwich.repo  # noqa: F401  # imported here, once
import lsprotocol.types

import handrail
import handrail.cli

MODULE = ("-m", "handrail")
ORDER_BYTES, FILES = 1 << 16, 4
BUILTINS = (str, int, float, bool, type(None), list, tuple, dict)


def import_everything() -> None:
    """Import all that a server or a command may import later."""
    for module in pkgutil.walk_packages(handrail.__path__, "handrail."):
        if not module.name.startswith("handrail.testing") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def own_kinds() -> list[type]:
    """The dataclasses of the program."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("handrail.")]
    found = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    return [kind for kind in found if dataclasses.is_dataclass(kind)]


def prepare() -> None:
    """Do what a server does at the first value of each kind."""
    from handrail.lsp import connection, wire  # noqa: PLC0415  # after all are imported, in their order

    converter, kinds = connection._converter(), own_kinds()
    for kind in kinds:
        with contextlib.suppress(TypeError):
            typing.cast(Any, kind).__init__(object.__new__(kind))  # `handrail.values` compiles it now
    for _ in range(2):  # what is prepared for some kinds is forgotten when others are
        warmed: set[str] = set()
        for each in (*BUILTINS, *lsprotocol.types.ALL_TYPES_MAP.values()):
            warm(converter, each, warmed)
        warmed = set()
        for each in (*BUILTINS, *kinds):
            if each in BUILTINS or each.__module__.startswith("handrail.lsp.protocol."):
                warm(wire.CONVERTER, each, warmed)
    vars(connection)["_converter"] = lambda: converter


def warm(converter: cattrs.Converter, hint: Any, warmed: set[str]) -> None:
    """Prepare a type and those that it consists of."""
    if str(hint) in warmed:
        return
    warmed.add(str(hint))
    parts = list(typing.get_args(hint))
    with contextlib.suppress(Exception):  # not every type can be read
        converter.get_unstructure_hook(hint)
        converter.get_structure_hook(hint)
        if isinstance(hint, type) and (attrs.has(hint) or dataclasses.is_dataclass(hint)):
            parts += typing.get_type_hints(hint).values()
    for part in parts:
        warm(converter, part, warmed)


def fork_our_programs() -> None:
    """Fork the processes that a server or a command starts too, if they run our own code."""
    from handrail.adapters.models.worker import child, parent  # noqa: PLC0415

    loop = asyncio.base_events.BaseEventLoop
    start = loop.subprocess_exec

    def begun(work: Callable[[], object]) -> Callable[[], None]:
        def begin() -> None:
            gc.freeze()  # what the other process has open is not closed when other files have its numbers
            close_others()
            logging.root.handlers.clear()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if callable(signal.getsignal(number)):
                    is_int = number == signal.SIGINT
                    signal.signal(number, signal.default_int_handler if is_int else signal.SIG_DFL)
            finish(work)

        return begin

    async def start_or_fork(self: Any, factory: Any, *argv: Any, **options: Any) -> Any:
        if parent.BEGIN in argv:
            options["preexec_fn"] = begun(child.main)
        elif MODULE in (argv[1:3], argv[2:4]):
            words = argv[argv.index("handrail") + 1 :]
            options["preexec_fn"] = begun(lambda: handrail.cli.main(words))
        return await start(self, factory, *argv, **options)

    vars_of_loop: Any = loop
    vars_of_loop.subprocess_exec = start_or_fork


def close_others() -> None:
    """Close all but the standard streams."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2:
            with contextlib.suppress(OSError):
                os.close(fd)


def finish(work: Callable[[], object]) -> NoReturn:
    """Run a program to its end, as Python does, but leave it to the system to take its memory."""
    set_up_streams()
    code: object = 1
    try:
        code = work()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001  # as Python ends after an error
        traceback.print_exc()
    with contextlib.suppress(BaseException):
        shut_down: Any = threading
        shut_down._shutdown()
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def set_up_streams() -> None:
    """Have Python's standard streams be those that the process has now."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = open(0, encoding=encoding, errors=errors or "strict", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, errors=errors or "strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115


def run(order: Any, files: Sequence[int]) -> NoReturn:
    """In a new process: run what is ordered, with these files as its standard streams."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if len(files) == FILES:
        os.setpgid(0, 0)
        if (pid := os.fork()) != 0:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.write(files[-1], code.to_bytes(4, "big", signed=True))
            os._exit(0)
    for number, fd in enumerate(files[:3]):
        os.dup2(fd, number)
    for fd in files:
        os.close(fd)
    os.environ.clear()
    os.environ.update(order["environment"])
    if order["folder"]:
        os.chdir(order["folder"])
    exec(order["before"], {})
    finish(lambda: handrail.cli.main(order["argv"]))


def main() -> None:
    """Take orders until no more can come."""
    import_everything()
    prepare()
    fork_our_programs()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    orders = socket.socket(fileno=int(sys.argv[1]))
    while True:
        order, files, _, _ = socket.recv_fds(orders, ORDER_BYTES, FILES)
        if not order:
            break
        if (pid := os.fork()) == 0:
            orders.close()
            run(json.loads(order), files)
        for fd in files:
            os.close(fd)
        orders.send(pid.to_bytes(4, "big"))


if __name__ == "__main__":
    main()

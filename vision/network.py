"""Runs a network's .onnx file on the CPU: with ONNX Runtime, or with OpenVINO where that is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput


class Network(Protocol):
    """One input, one output."""

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """The output for a batch, (n, 3, height, width) float32."""
        ...


#: Measured on two cores: a second thread shortens a look by a tenth only, and takes it from other work.
THREADS = 1


def backends() -> tuple[str, ...]:
    """The backends that are installed, the preferred one first."""
    has_openvino = importlib.util.find_spec("openvino") is not None
    return ("openvino", "onnxruntime") if has_openvino else ("onnxruntime",)


def open_network(path: Path, backend: str | None = None, threads: int = THREADS) -> Network:
    """Load an ``.onnx`` file with a backend of `backends`, by default the preferred one."""
    chosen = backend or backends()[0]
    try:
        if chosen == "openvino":
            return _OpenVino(path, threads)
        if chosen == "onnxruntime":
            return _OnnxRuntime(path, threads)
    except Exception as error:
        # Each backend has its own zoo of exceptions for a file that it can't load; all mean the same to a person.
        if not isinstance(error, (RuntimeError, ValueError, OSError)) and "onnxruntime" not in type(error).__module__:
            raise
        raise BadInput.of(str(path), "a network in ONNX format", str(error).splitlines()[0][:200]) from error
    raise BadInput.of("backend", " or ".join(backends()), repr(chosen))


class _OnnxRuntime:
    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime  # type: ignore[import-untyped]  # it ships no types

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only: warnings would go to a person's terminal
        # Shapes differ from picture to picture; a plan of memory for each would grow without end.
        options.enable_mem_pattern = False
        self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._name: str = self._session.get_inputs()[0].name

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        output: NDArray[np.float32] = self._session.run(None, {self._name: batch})[0]
        return output


class _OpenVino:
    def __init__(self, path: Path, threads: int) -> None:
        import openvino  # type: ignore[import-not-found,unused-ignore]  # an extra that may be missing

        core: Any = openvino.Core()
        self._compiled: Any = core.compile_model(
            str(path), "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        )

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        output: NDArray[np.float32] = np.array(self._compiled(batch)[0], np.float32)
        return output

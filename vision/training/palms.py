"""Makes the palm detector's and the hand landmarks' model.onnx again from a MediaPipe wheel.

``pip download mediapipe==0.10.14 --no-deps``, then ``python -m vision.training.palms mediapipe-0.10.14-….whl
--out models``. The wheel (Apache-2.0) carries both networks as .tflite files with half-precision weights; they are
written with the same weights, channels first and with one output each, as `vision.network` serves them. Nothing is
trained here.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput

#: Where each network lies in the wheel, what it is called here, and the file's SHA-256 in version 0.10.14.
NETWORKS = {
    "palm-detector": (
        "mediapipe/modules/palm_detection/palm_detection_full.tflite",
        "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54",
    ),
    "hand-landmarks": (
        "mediapipe/modules/hand_landmark/hand_landmark_full.tflite",
        "11c272b891e1a99ab034208e23937a8008388cf11ed2a9d776ed3d01d0ba00e3",
    ),
}

_OPSET, _IR_VERSION = 15, 8


def main(argv: Sequence[str] | None = None) -> int:
    """Convert both networks; status 0, or 2 and one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m vision.training.palms", description=__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--out", type=Path, required=True, metavar="MODELS")
    args = parser.parse_args(argv)
    try:
        for name in NETWORKS:
            path = args.out / name / "model.onnx"
            network = converted(network_in(args.wheel, name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(network)
            print(f"{path}: {len(network)} bytes")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def network_in(wheel: Path, name: str) -> bytes:
    """The .tflite file of one of `NETWORKS` in a MediaPipe wheel; `BadInput` unless it is the one meant."""
    inside, expected = NETWORKS[name]
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(inside)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput.of(str(wheel), f"a wheel of mediapipe 0.10.14 with {inside}", error) from None
    digest = hashlib.sha256(data).hexdigest()
    if digest != expected:
        raise BadInput.of(f"{wheel}, {inside}", f"SHA-256 {expected}", digest)
    return data


def converted(data: bytes) -> bytes:
    """An ONNX file with the same network as a .tflite file.

    Input (n, 3, height, width) float32. Its one output joins the .tflite file's outputs along the last axis, in
    the file's order. Only the operations that the two networks use are known; any other is `BadInput`.
    """
    import tflite

    graph = _Graph(tflite.Model.GetRootAsModel(data, 0))
    return graph.convert()


class _Graph:
    """One subgraph on its way from NHWC operations to NCHW nodes."""

    def __init__(self, model: Any) -> None:
        import tflite
        from onnx import helper

        self._schema, self._helper = tflite, helper
        self._model = model
        self._graph = model.Subgraphs(0)
        self._names = {code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)}
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._known: set[str] = set()
        #: Constants by the tensor that holds them, half-precision ones by the tensor that widens them.
        self._constant: dict[int, NDArray[Any]] = {}

    def convert(self) -> bytes:
        from onnx import TensorProto, checker

        (source,) = self._graph.InputsAsNumpy()
        _, height, width, channels = self._shape(source)
        for number in range(self._graph.OperatorsLength()):
            self._operation(self._graph.Operators(number))
        outputs = [self._name(tensor) for tensor in self._graph.OutputsAsNumpy()]
        self._add("Concat", outputs, "found", axis=-1)
        shapes = [self._shape(tensor)[1:] for tensor in self._graph.OutputsAsNumpy()]
        joined = ["n", *map(int, shapes[0][:-1]), sum(int(shape[-1]) for shape in shapes)]
        make = self._helper.make_tensor_value_info
        graph = self._helper.make_graph(
            self._nodes,
            "network",
            [make(self._name(source), TensorProto.FLOAT, ["n", int(channels), int(height), int(width)])],
            [make("found", TensorProto.FLOAT, joined)],
            self._weights,
        )
        opset = self._helper.make_opsetid("", _OPSET)
        network = self._helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
        checker.check_model(network, full_check=True)
        out: bytes = network.SerializeToString()
        return out

    def _operation(self, operator: Any) -> None:
        code = self._model.OperatorCodes(operator.OpcodeIndex())
        kind = self._names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        inputs = [int(tensor) for tensor in operator.InputsAsNumpy()]
        (output,) = (int(tensor) for tensor in operator.OutputsAsNumpy())
        write = getattr(self, f"_write_{kind.lower()}", None)
        if write is None:
            raise BadInput.of("network", "an operation that is known here", kind)
        write(operator, inputs, output)

    def _options(self, operator: Any, name: str) -> Any:
        told = getattr(self._schema, name)()
        table = operator.BuiltinOptions()
        told.Init(table.Bytes, table.Pos)
        return told

    # Tensors -----------------------------------------------------------------------------------------------

    def _name(self, tensor: int) -> str:
        return f"t{tensor}"

    def _shape(self, tensor: int) -> NDArray[np.int32]:
        return np.asarray(self._graph.Tensors(tensor).ShapeAsNumpy(), np.int32)

    def _values(self, tensor: int) -> NDArray[Any]:
        """A constant's values in the file's own order of axes."""
        if tensor in self._constant:
            return self._constant[tensor]
        told = self._graph.Tensors(tensor)
        kinds = {0: np.float32, 1: np.float16, 2: np.int32}
        raw = self._model.Buffers(told.Buffer()).DataAsNumpy()
        if told.Type() not in kinds or not isinstance(raw, np.ndarray):
            raise BadInput.of(f"tensor {tensor}", "float or int32 values", f"type {told.Type()}")
        return np.frombuffer(raw.tobytes(), kinds[told.Type()]).reshape(self._shape(tensor))

    def _weight(self, name: str, values: NDArray[Any]) -> str:
        """Keep a constant once; half precision is widened where it is used, so that the file stays small."""
        from onnx import TensorProto, numpy_helper

        if name not in self._known:
            self._known.add(name)
            stored = f"{name}_half" if values.dtype == np.float16 else name
            self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), stored))
            if stored != name:
                self._add("Cast", [stored], name, to=TensorProto.FLOAT)
        return name

    def _add(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _activated(self, function: int, output: int, kind: str, inputs: Sequence[str], **attributes: Any) -> None:
        """Add a node, and after it the activation that the file fuses with it."""
        functions = self._schema.ActivationFunctionType
        name = self._name(output)
        if function == functions.NONE:
            self._add(kind, inputs, name, **attributes)
        elif function == functions.RELU:
            self._add("Relu", [self._add(kind, inputs, name + "_before", **attributes)], name)
        elif function == functions.RELU6:
            low, high = (self._weight(f"at{value}", np.array(value, np.float32)) for value in (0, 6))
            self._add("Clip", [self._add(kind, inputs, name + "_before", **attributes), low, high], name)
        else:
            raise BadInput.of("network", "no activation, ReLU or ReLU6", f"activation {function}")

    def _pads(self, padding: int, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int]) -> list[int]:
        """ONNX's pads, (top, left, bottom, right), for the file's SAME or VALID; TensorFlow adds the odd one last."""
        if padding == self._schema.Padding.VALID:
            return [0, 0, 0, 0]
        missing = [
            max(0, (-(-length // step) - 1) * step + reach - length)
            for length, reach, step in zip(size, kernel, stride, strict=True)
        ]
        return [gap // 2 for gap in missing] + [gap - gap // 2 for gap in missing]

    # Operations --------------------------------------------------------------------------------------------

    def _write_dequantize(self, operator: Any, inputs: list[int], output: int) -> None:
        self._constant[output] = self._values(inputs[0])

    def _write_conv_2d(self, operator: Any, inputs: list[int], output: int) -> None:
        kernel = self._values(inputs[1]).transpose(0, 3, 1, 2)
        self._convolution(self._options(operator, "Conv2DOptions"), inputs, output, kernel, 1)

    def _write_depthwise_conv_2d(self, operator: Any, inputs: list[int], output: int) -> None:
        kernel = self._values(inputs[1]).transpose(3, 0, 1, 2)
        groups = int(self._shape(inputs[0])[3])
        self._convolution(self._options(operator, "DepthwiseConv2DOptions"), inputs, output, kernel, groups)

    def _convolution(self, options: Any, inputs: list[int], output: int, kernel: NDArray[Any], groups: int) -> None:
        stride = [options.StrideH(), options.StrideW()]
        if [options.DilationHFactor(), options.DilationWFactor()] != [1, 1]:
            raise BadInput.of("network", "convolutions without dilation", "one with it")
        sources = [
            self._name(inputs[0]),
            self._weight(self._name(inputs[1]), kernel),
            self._weight(self._name(inputs[2]), self._values(inputs[2])),
        ]
        pads = self._pads(options.Padding(), self._shape(inputs[0])[1:3].tolist(), kernel.shape[2:], stride)
        self._activated(
            options.FusedActivationFunction(), output, "Conv", sources,
            strides=stride, pads=pads, group=groups, kernel_shape=list(kernel.shape[2:]),
        )  # fmt: skip

    def _write_prelu(self, operator: Any, inputs: list[int], output: int) -> None:
        slope = self._weight(self._name(inputs[1]), self._values(inputs[1]).transpose(2, 0, 1))
        self._add("PRelu", [self._name(inputs[0]), slope], self._name(output))

    def _write_add(self, operator: Any, inputs: list[int], output: int) -> None:
        options = self._options(operator, "AddOptions")
        self._activated(options.FusedActivationFunction(), output, "Add", [self._name(one) for one in inputs])

    def _write_max_pool_2d(self, operator: Any, inputs: list[int], output: int) -> None:
        options = self._options(operator, "Pool2DOptions")
        kernel, stride = [options.FilterHeight(), options.FilterWidth()], [options.StrideH(), options.StrideW()]
        pads = self._pads(options.Padding(), self._shape(inputs[0])[1:3].tolist(), kernel, stride)
        self._activated(
            options.FusedActivationFunction(), output, "MaxPool", [self._name(inputs[0])],
            kernel_shape=kernel, strides=stride, pads=pads,
        )  # fmt: skip

    def _write_pad(self, operator: Any, inputs: list[int], output: int) -> None:
        before, after = self._values(inputs[1])[[0, 3, 1, 2]].T
        pads = self._weight(f"pads{output}", np.concatenate([before, after]).astype(np.int64))
        self._add("Pad", [self._name(inputs[0]), pads], self._name(output))

    def _write_resize_bilinear(self, operator: Any, inputs: list[int], output: int) -> None:
        options = self._options(operator, "ResizeBilinearOptions")
        corners = "align_corners" if options.AlignCorners() else "asymmetric"
        mode = "half_pixel" if options.HalfPixelCenters() else corners
        scales = self._shape(output)[[0, 3, 1, 2]] / self._shape(inputs[0])[[0, 3, 1, 2]]
        sources = [self._name(inputs[0]), "", self._weight(f"scales{output}", scales.astype(np.float32))]
        self._add("Resize", sources, self._name(output), mode="linear", coordinate_transformation_mode=mode)

    def _write_reshape(self, operator: Any, inputs: list[int], output: int) -> None:
        rows = self._add("Transpose", [self._name(inputs[0])], f"rows{output}", perm=[0, 2, 3, 1])
        shape = self._weight(f"shape{output}", np.array([0, -1, self._shape(output)[-1]], np.int64))
        self._add("Reshape", [rows, shape], self._name(output))

    def _write_concatenation(self, operator: Any, inputs: list[int], output: int) -> None:
        axis = self._options(operator, "ConcatenationOptions").Axis()
        if len(self._shape(output)) != 3 or axis != 1:
            raise BadInput.of("network", "rows joined along the first axis", f"axis {axis}")
        self._add("Concat", [self._name(one) for one in inputs], self._name(output), axis=1)

    def _write_mean(self, operator: Any, inputs: list[int], output: int) -> None:
        if sorted(self._values(inputs[1]).reshape(-1).tolist()) != [1, 2]:
            raise BadInput.of("network", "a mean over height and width", self._values(inputs[1]).tolist())
        self._add("ReduceMean", [self._name(inputs[0])], self._name(output), axes=[2, 3], keepdims=0)

    def _write_fully_connected(self, operator: Any, inputs: list[int], output: int) -> None:
        options = self._options(operator, "FullyConnectedOptions")
        sources = [self._name(inputs[0])]
        sources += [self._weight(self._name(one), self._values(one)) for one in inputs[1:]]
        self._activated(options.FusedActivationFunction(), output, "Gemm", sources, transB=1)

    def _write_logistic(self, operator: Any, inputs: list[int], output: int) -> None:
        self._add("Sigmoid", [self._name(inputs[0])], self._name(output))


if __name__ == "__main__":
    sys.exit(main())

"""Stands in for torchvision where it is missing or does not load, so that ultralytics trains without it.

ultralytics asks for torchvision's version and for its `ops.nms` at import. CPU builds of torch often come with
a torchvision wheel that was built for another torch and fails to import. Detection training needs nothing else
of it: non-maximum suppression is ultralytics' own `TorchNMS`. Where a working torchvision is installed this
module does nothing.
"""

import importlib
import importlib.machinery
import importlib.metadata
import sys
import types
from typing import Any

#: The version that is told to ultralytics: any that it accepts beside a current torch.
TOLD_VERSION = "0.26.0"


def install() -> bool:
    """Put the stand-in where ultralytics looks, unless torchvision works; whether it was needed."""
    try:
        importlib.import_module("torchvision")
        return False
    except (ImportError, OSError, RuntimeError):
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
    asked = importlib.metadata.version

    def version(distribution_name: str) -> str:
        return TOLD_VERSION if distribution_name == "torchvision" else asked(distribution_name)

    importlib.metadata.version = version
    stub, ops = types.ModuleType("torchvision"), types.ModuleType("torchvision.ops")
    stub.__version__ = TOLD_VERSION  # type: ignore[attr-defined]  # a module of our own making
    ops.nms = _nms  # type: ignore[attr-defined]  # same
    stub.ops = ops  # type: ignore[attr-defined]  # same
    for module in (stub, ops):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, loader=None)
        sys.modules[module.__name__] = module
    return True


def _nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    from ultralytics.utils.nms import TorchNMS

    return TorchNMS.nms(boxes, scores, iou_threshold)

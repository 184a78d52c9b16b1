"""Some layers were left on the CPU because the GPU has no room for them."""

from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    on_gpu, layers = case.whole("layers_on_gpu"), case.whole("layers")
    noticed = case.noticed("layers_on_cpu")
    # A server without any layer on a GPU may have none: that is a choice, not a slip.
    left = layers - on_gpu if on_gpu and layers and on_gpu < layers else 0
    if not left and not noticed.count:
        return None
    where = f"{on_gpu} of {layers} layers are on the GPU, {left} on the CPU" if left else "The log says that layers were left on the CPU"
    return Finding(
        code="layers_on_cpu",
        severity="high",
        title="Layers run on the CPU",
        evidence=f"{where}.",
        cause="Weights and cache together are larger than the GPU's memory. Every token waits for the layers in main memory, which is many times slower.",
        fix="Smaller weights (a lower quantization), a shorter context, fewer slots or an 8-bit cache, until all layers fit; the planner says which.",
        count=left or noticed.count,
        examples=examples_of(noticed, "layers were left on the CPU"),
    )


FINDING = _look

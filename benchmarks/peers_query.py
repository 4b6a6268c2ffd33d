"""Ask NVIDIA's nvMatmulHeuristics about shapes and tiles: one precision and one target a process.

Run by peers.py under the Python that has `nvidia-matmul-heuristics`; nothing of gemmlab is imported here. Reads one
JSON object from stdin and prints one as its last line: predicted seconds of its first configuration for each problem,
how long each query took, and, where kernels are given, the bytes that it expects them to load from DRAM.
"""

import ctypes
import json
import sys
import time
from importlib.metadata import version

import nvMatmulHeuristics as peer  # noqa: N813

CONFIGURATIONS = 8  # asked for in each query; the first is what it ranks best
PROFILE_LOADED = 1  # status of a whole internal profile; 2: some or all of it is missing
ORDERS = {"row_major": 0, "column_major": 1}  # of programs


def interface(target: str, precision: str, layout: int) -> tuple[peer.NvMatmulHeuristicsInterfaceEx, int]:
    """The library set to an H200 with its own profile loaded, and the status of that loading."""
    handle = peer.NvMatmulHeuristicsInterfaceEx(
        backend=peer.NvMatmulHeuristicsTarget[target],
        flags=peer.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=peer.NvMatmulHeuristicsNvidiaGpu.H200_SXM,
    )
    # the wrapper takes every status but 0 for success, so the C function is asked itself
    status = handle.nvMatmulHeuristicsLoadInternalDiscoverySet(
        handle.handle, precision.encode(), int(handle.target), layout, handle.hardware_descriptor
    )
    return handle, status


def times(handle, precision: str, layout: int, problems: list) -> tuple[list, list]:
    """Predicted seconds, None where it offers nothing, and seconds that each query took."""
    predicted, spent = [], []
    for sides in problems:
        problem = handle.makeNvMatmulHeuristicsProblem(*sides, layout)
        begin = time.perf_counter()
        found = handle.get(problem, CONFIGURATIONS, precision)
        spent.append(time.perf_counter() - begin)
        predicted.append(found[0]["runtime"] if found else None)
    return predicted, spent


def load_bytes(handle, precision: str, layout: int, kernels: list, order: int) -> list:
    """Bytes that each kernel is expected to load from DRAM, None where it refuses the kernel.

    `estimateSiliconMetric` of the wrapper passes a target where the C function takes a backend, which ends the process
    (0.1.0.27); so the C function is called with a backend. How warps divide the tile changes no byte, only whether the
    target takes the kernel: the first division that it takes.
    """
    backend = handle.createBackend(handle.target)
    metric = int(peer.NvMatmulHeuristicsSiliconMetric.GMEM_LOAD_BYTES)
    found = []
    for kernel in kernels:
        problem = handle.makeNvMatmulHeuristicsProblem(kernel["m"], kernel["n"], kernel["k"], layout)
        answers = (
            handle.nvMatmulHeuristicsEstimateSiliconMetricEx(
                handle.handle,
                precision.encode(),
                backend,
                ctypes.byref(problem),
                ctypes.byref(configuration(handle, kernel, down, kernel["warps"] // down, order)),
                metric,
                handle.hardware_descriptor,
            )
            for down in (kernel["warps"] // 2, 1, kernel["warps"])
        )
        found.append(next((answer for answer in answers if answer > 0), None))
    handle.destroyBackend(backend)
    return found


def configuration(handle, kernel: dict, down: int, across: int, order: int):
    """The kernel in the library's struct, its tile divided among `down` x `across` warps."""
    made = handle.nvmmhKernelConfiguration()
    made.cta[:] = [kernel["block_m"], kernel["block_n"], kernel["block_k"]]
    made.warp[:] = [kernel["block_m"] // down, kernel["block_n"] // across, kernel["block_k"]]
    made.instr[:] = [16, 8, 16]
    made.splitK, made.loadStages, made.gridSwizzle, made.ctaOrder = 1, kernel["stages"], kernel["group_m"], order
    made.cluster[:] = [1, 1]
    return made


def main() -> None:
    """Answer the one request on stdin."""
    asked = json.load(sys.stdin)
    precision = asked["precision"]
    layout = int(peer.NvMatmulHeuristicsMatmulLayout[asked["layout"].upper() + "_ROW_MAJOR"])
    handle, status = interface(asked["target"], precision, layout)
    predicted, spent = times(handle, precision, layout, asked.get("problems", []))
    kernels = asked.get("kernels", [])
    answer = {
        "version": version("nvidia-matmul-heuristics"),
        "profile_loaded": status == PROFILE_LOADED,
        "time_s": predicted,
        "query_s": spent,
        "load_bytes": {
            name: load_bytes(handle, precision, layout, kernels, order) for name, order in ORDERS.items() if kernels
        },
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

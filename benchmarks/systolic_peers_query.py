"""SCALE-Sim's answers, one JSON line a case: run by the Python of an environment that has it, see systolic_peers.py.

A line in is {m, n, k, rows, cols, dataflow}; out go its figures and the CPU seconds of its run, traces not written.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

CONFIG = """[general]
run_name = run

[architecture_presets]
ArrayHeight = {rows}
ArrayWidth = {cols}
IfmapSramSzkB = 1024
FilterSramSzkB = 1024
OfmapSramSzkB = 1024
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Bandwidth = 10
Dataflow = {dataflow}
ReadRequestBuffer = 32
WriteRequestBuffer = 32

[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2

[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40

[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""
LAYOUT_COLUMNS = 21


def answer(case, folder):
    """Its figures for one multiplication."""
    from scalesim.scale_sim import scalesim
    from scalesim.single_layer_sim import single_layer_sim

    (folder / "c.cfg").write_text(CONFIG.format(**case))
    (folder / "t.csv").write_text(f"Layer,M,N,K,\nx,{case['m']},{case['n']},{case['k']},\n")
    ones = ",".join(["1"] * (LAYOUT_COLUMNS - 1))
    (folder / "l.csv").write_text(f"Layer{',x' * (LAYOUT_COLUMNS - 1)},\nx,{ones},\n")
    files = {"config": str(folder / "c.cfg"), "topology": str(folder / "t.csv"), "layout": str(folder / "l.csv")}
    whole = scalesim(save_disk_space=True, verbose=False, input_type_gemm=True, **files)
    start = time.process_time()
    layer = single_layer_sim()
    layer.set_params(
        layer_id=0, config_obj=whole.config, topology_obj=whole.topo, layout_obj=whole.layout, verbose=False
    )
    layer.run()
    try:
        _, cycles, _, utilisation, mapping, computing = layer.get_compute_report_items()
    except ZeroDivisionError:
        return {"error": "ZeroDivisionError"}
    detail = layer.get_detail_report_items()
    return {
        "cycles": int(cycles),
        "utilisation": float(utilisation),
        "mapping": float(mapping),
        "compute_utilisation": float(computing),
        "a_reads": int(detail[2]),
        "b_reads": int(detail[5]),
        "c_writes": int(detail[8]),
        "cpu_s": time.process_time() - start,
    }


def peak(name):
    """A figure of this process' memory, KiB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def main():
    """Answer every line."""
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                found = answer(json.loads(line), Path(folder))
            found["peak_kib"] = peak("VmHWM")
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

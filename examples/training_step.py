"""One linear layer in training, x @ W.T and the gradients of both, with an odd number of outputs and a padded one."""

from gemmlab import Gemm, explain
from gemmlab.problem.backward import gradient_a, gradient_b

for outputs in (32003, 32064):
    forward = Gemm(8192, outputs, 4096, "bfloat16", layout="nt")  # x is (8192, 4096), W is (outputs, 4096)
    steps = {"x @ W.T": forward, "dx = dy @ W": gradient_a(forward), "dW = dy.T @ x": gradient_b(forward)}
    for name, gemm in steps.items():
        told = explain(gemm, "h100-sxm", advice=False).prediction
        sides = f"{gemm.m:5} x {gemm.n:5} x {gemm.k:5} {gemm.layout}"
        print(f"{name:13}  {sides}  {1e3 * told.time_s:5.2f} ms  bound by {told.bound}")

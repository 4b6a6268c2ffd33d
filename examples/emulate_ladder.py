"""What each rung of the ladder asks of memory, counted by running it: 128 x 128 x 64 in float32."""

import numpy as np

from gemmlab import emulate
from gemmlab.kernels.ladder import RUNGS, load

M, N, K = 128, 128, 64
a, b = np.ones((M, K), np.float32), np.ones((K, N), np.float32)
print(f"{'':12}{'loads':>12}{'sectors':>12}{'wavefronts':>12}{'conflicts':>12}")
for rung in RUNGS.values():
    c = np.zeros((M, N), np.float32)
    seen = emulate(load(rung.source), *rung.launch(M, N), a, b, c, outputs=[c])
    assert seen.ok
    shared = seen.shared_load.wavefronts + seen.shared_store.wavefronts
    conflicts = seen.shared_load.bank_conflicts + seen.shared_store.bank_conflicts
    print(f"{rung.name:12}{seen.global_load.elements:12,}{seen.global_load.sectors:12,}{shared:12,}{conflicts:12,}")

"""The schedule of programs, one event at a time: what schedule.py does with arrays."""

import math

from gemmlab.model.noise import uniform


def tile_order(down, across, group, raster, members):
    """(row, column, member) of each program, by nested loops."""
    if raster == "m":
        return [(row, column, member) for column, row, member in tile_order(across, down, group, "n", members)]
    order = []
    for member in range(members):
        for first in range(0, down, group):
            for column in range(across):
                for row in range(first, min(first + group, down)):
                    order.append((row, column, member))
    return order


def k_steps(grid, steps):
    """Widths of a program's k-steps: equal ones, the last what is left."""
    k = math.ceil(grid.k / grid.split_k)
    width = math.ceil(k / steps)
    widths = []
    while sum(widths) < k:
        widths.append(min(width, k - sum(widths)))
    return widths


def touches(grid, slots, steps, jitter, programs, seed=1):
    """[(slot, program, A piece or D piece, B piece or None)] in order of time, and the bytes of each piece by name."""
    widths = k_steps(grid, steps)
    drawn = iter(uniform(programs * len(widths), seed).tolist())
    free = [slot * 1e-6 for slot in range(min(slots, programs))]
    order = tile_order(grid.tiles_m, grid.tiles_n, grid.group_m, grid.raster, grid.batch * grid.split_k)
    events, size = [], {}
    for program in range(programs):
        slot = min(range(len(free)), key=lambda s: (free[s], s))
        row, column, member = order[program]
        height = min(grid.block_m, grid.m - row * grid.block_m)
        across = min(grid.block_n, grid.n - column * grid.block_n)
        spent = 0.0
        for step, width in enumerate(widths):
            a, b = ("a", member, row, step), ("b", member, column, step)
            size[a], size[b] = height * width * grid.a_bytes, across * width * grid.b_bytes
            events.append((free[slot] + spent, program, step, slot, a, b))
            long = width / 64
            late = -math.log1p(-next(drawn)) - 1
            spent += max(long + jitter * math.sqrt(long) * late, 0.05 * long)
        size[("d", program)] = height * across * grid.d_bytes
        events.append((free[slot] + spent, program, len(widths), slot, ("d", program), None))
        free[slot] += spent + 1.0
    events.sort(key=lambda event: event[:3])
    return [(slot, program, a, b) for _, program, _, slot, a, b in events], size

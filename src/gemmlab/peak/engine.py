"""The wgmma kernel as data: its sizes, what they need of a chip, and the text that is compiled."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gemmlab.formats import bits_of
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div, round_up

FOLDER = Path(__file__).parent / "cuda"
HEADERS = (
    "transport.cuh",
    "products.cuh",
    "order.cuh",
    "stage.cuh",
    "store.cuh",
    "results.cuh",
    "float_rows.cuh",
    "shares.cuh",
)
SHARED_BYTES = 227 * 1024  # a block's, on compute capability 9.0: CUDA C++ Programming Guide, technical specifications
SM_REGISTERS = 64 * 1024  # of 32 bits
SM_SHARED_BYTES, BLOCK_BYTES = 228 * 1024, 1024  # an SM's, and what each block takes of it for itself: the same
RESIDENT_THREADS, OTHER_REGISTERS = 256, 48  # of a program with one consumer; of a thread, beside its sums
ROWS_REGISTERS = 16  # and beside these, where D goes row by row
ROW_BYTES = 128  # of a tile in shared memory: what the copy engine's widest swizzle covers
WARPGROUP = 64  # rows of one instruction
LEAN_REGISTERS = 128  # of a thread, where some are left
MOST_COLUMNS, WIDEST = 256, 320  # of one instruction, and of a tile, which then takes two of half as many
MOST_CONSUMERS = 3  # warpgroups that multiply
THIRD_SUMS, THIRD_ROWS_SUMS = 96, 72  # of a thread of three, and where D goes row by row: more are spilled
FLOATS_STEP = 40  # float32 between rows on their way to D: 32 of a warp, and room so that banks differ
PRODUCTS_BYTES = 32  # along k, of one instruction
ADDED = 128  # sums that a warp of adds.cu tells: four of each lane
SLICE_GROUPS, MOST_SLICES = 9, 16  # groups whose sums one warp adds later; warps of a block

#: PTX's names of the operands' formats
INPUTS = {
    "bfloat16": "bf16",
    "float16": "f16",
    "tfloat32": "tf32",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}
OUTPUTS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of the wgmma kernel; raises GemmlabError for sizes that Hopper cannot hold."""

    a_format: str  #: of the rows of the sums
    b_format: str
    d_format: str
    block_n: int  #: columns of a program's tile, a multiple of 8; above 256 of 16
    consumers: int = 2  #: warpgroups that multiply, 64 rows of the tile each
    stages: int = 4  #: tiles of A and B in flight
    pieces: int = 1  #: 2: float32 as high and low float16, beside one another along k
    promote: int = 0  #: tiles of k between two promotions to registers; 0 never
    a_sides: bool = False  #: A's rows in memory run along m
    b_sides: bool = False  #: B's run along n
    swapped: bool = False  #: computes D's transpose and writes D
    rows_store: bool = (
        False  #: each row of D goes by itself: 16 bits off the copy engine's road, float32 of any address
    )
    direct: bool = False  #: D's go from registers, where it is of 16 bits and on the road
    spread: int = 1  #: 2: two programs of a cluster, one below the other, fetch half of B each, for both
    across: int = 1  #: 2: two, one beside the other, fetch half of A each
    resident: int = 1  #: programs that an SM holds at once, also of the launch behind
    parts: int = 1  #: programs of one cluster that share k; their sums meet in shared memory
    groups: int = 1  #: clusters that share k; their sums meet in global memory
    later: bool = False  #: where a launch behind adds them
    lean: bool = False  #: and leaves registers for its programs, which then wait on the same SMs
    hold: bool = False  #: or lets it begin only when this one has ended, its programs spread evenly over the SMs
    blocks: int = 1  #: of D that a warpgroup holds in shared memory on their way
    lag: int = 0  #: steps that the second warpgroup stays behind the first, so that their epilogues do not coincide
    early: bool = False  #: starts before the kernel in front of it has ended
    batched: bool = False  #: several multiplications of the same sides

    def __post_init__(self) -> None:
        if self.block_n % (8 * self.halves) or not 8 <= self.block_n <= WIDEST:
            raise GemmlabError(
                f"block_n={self.block_n} is no multiple of 8 up to {MOST_COLUMNS}, nor of 16 up to {WIDEST}",
                "what one wgmma computes, or two",
            )
        pairs = self.consumers == 2 and self.spread == 2 and self.shares == 1
        if self.halves == 2 and not (pairs and self.store in (0, 3) and not (self.promote or self.b_sides)):
            raise GemmlabError(
                f"block_n={self.block_n} is above {MOST_COLUMNS}",
                "two consumers, pairs of programs, B along k, all of k in one accumulator, D of 16 bits on the road",
            )
        if self.swapped and self.block_n > 64 and self.block_n % 64:
            raise GemmlabError(f"block_n={self.block_n} swapped is above 64 and no multiple of it")
        if (self.a_sides or self.b_sides) and bits_of(self.a_format) != 16:
            raise GemmlabError(f"{self.a_format} along m or n", "wgmma reads formats of 16 bits so, others along k")
        if self.spread * self.across > 1 and (self.parts > 1 or (self.groups > 1 and not self.later)):
            raise GemmlabError("programs that fetch for one another", "they have the same k, others' are added later")
        if self.spread == 2 and self.block_n % (128 if self.b_sides else 16):
            raise GemmlabError("two programs that fetch for one another", "B in two equal halves")
        if self.across == 2 and self.a_sides and self.consumers == 1:
            raise GemmlabError("two programs that fetch for one another", "A in two equal halves")
        if self.later and (self.parts > 1 or self.groups == 1):
            raise GemmlabError("sums that are added later", "those of groups, each one program's")
        lean = self.later and self.consumers == 2 and self.registers_bound + OTHER_REGISTERS <= LEAN_REGISTERS
        if self.lean and not lean:
            raise GemmlabError("registers for programs that add later", "two consumers whose sums leave some")
        if self.hold and (self.lean or not (self.later and self.early)):
            raise GemmlabError("a launch behind that is held back", "one that adds later, and could begin early")
        if not 1 <= self.consumers <= MOST_CONSUMERS:
            raise GemmlabError(f"consumers={self.consumers}", f"1 to {MOST_CONSUMERS}")
        most = THIRD_ROWS_SUMS if self.rows_store else THIRD_SUMS
        if self.consumers == MOST_CONSUMERS and (self.shares > 1 or self.registers_bound > most):
            raise GemmlabError("three consumers", "all of k, and registers for the sums of each")
        if self.lag and (self.consumers != 2 or self.lag > self.stages - 2):
            raise GemmlabError(f"lag={self.lag} with {self.stages} stages", "two warpgroups, and two stages more")
        if self.rows_store and self.d_format == "float32" and (self.swapped or self.shares > 1):
            raise GemmlabError("float32 row by row", "D's own rows, of all of k")
        if self.direct and (self.rows_store or self.shares > 1 or self.d_format == "float32"):
            raise GemmlabError("results from registers", "16 bits on the road, of all of k")
        if self.pieces == 2 and self.batched:
            raise GemmlabError("a batch of pieces", "each by itself: their scales are a row's")
        if self.pieces == 2 and not self.promote:
            raise GemmlabError("pieces without promotion", "the accumulator's own cut would be the error")
        registers = SM_REGISTERS // (RESIDENT_THREADS * self.resident) // 8 * 8
        taken = self.registers_bound + OTHER_REGISTERS + ROWS_REGISTERS * self.rows_store
        if self.resident > 1 and (self.consumers > 1 or taken > registers):
            raise GemmlabError(f"{self.resident} programs on an SM", "one consumer each, and registers for all")
        if self.shared_bytes > self.shared_limit:
            raise GemmlabError(
                f"{self.stages} stages of {self.block_m}x{self.block_n} need {self.shared_bytes} bytes a program",
                f"{self.shared_limit} are there",
            )

    @property
    def halves(self) -> int:
        """Instructions side by side that a tile's columns take."""
        return 1 if self.block_n <= MOST_COLUMNS else 2

    @property
    def block_m(self) -> int:
        """Rows of a program's tile."""
        return WARPGROUP * self.consumers

    @property
    def tile_k(self) -> int:
        """Elements of k in a stage."""
        return ROW_BYTES * 8 // bits_of(self.a_format)

    @property
    def store(self) -> int:
        """0: 16 bits by the copy engine, 1: row by row, 3: by threads; 2: float32 by threads, 4: row by row."""
        if self.d_format == "float32":
            return 4 if self.rows_store else 2
        return 3 if self.direct else int(self.rows_store)

    @property
    def store_n(self) -> int:
        """Columns of D that are stored at a time: 64, or where that would pass the tile's end an odd share.

        Row by row it is all of them, or half of more than 128.
        """
        if self.store == 1:
            return self.block_n if self.block_n <= 128 else round_up(ceil_div(self.block_n, 2), 8)
        if self.block_n % 64 == 0 or (self.swapped and self.block_n < 64):
            return 64
        return max(n for n in range(8, 129, 16) if self.block_n % n == 0)

    @property
    def all_blocks(self) -> int:
        """Blocks of D in a warpgroup's share of a tile."""
        return ceil_div(self.block_n, self.store_n)

    @property
    def d_bytes(self) -> int:
        """Shared memory of a warpgroup's part of D on its way: blocks, or rows with room for their shift."""
        if self.shares > 1:
            return 0
        if self.store == 1:
            rows, columns = (min(self.block_n, 64), 64) if self.swapped else (WARPGROUP, self.store_n)
            return round_up(rows * 16 * ((columns // 8 + 1) | 1), ROW_BYTES)
        if self.store == 4:
            return 4 * WARPGROUP * FLOATS_STEP
        return 0 if self.store in (2, 3) else self.blocks * WARPGROUP * self.store_n * 2

    @property
    def stage_bytes(self) -> int:
        """Shared memory of one stage."""
        b_rows = round_up(self.block_n, 64) if self.b_sides else self.block_n
        return self.pieces * (self.block_m + b_rows) * ROW_BYTES

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a program: the ring, or the sums of a cluster in its place; blocks of D; barriers."""
        ring = self.stages * self.stage_bytes
        if self.shares > 1 and not self.later:
            ring = max(ring, 4 * self.block_m * (self.block_n + 4))  # as much comes from all programs as one has
        return ring + self.consumers * self.d_bytes + 16 * self.stages + 16

    @property
    def shared_limit(self) -> int:
        """Shared memory that a program may have."""
        return min(SHARED_BYTES, SM_SHARED_BYTES // self.resident - BLOCK_BYTES)

    @property
    def threads(self) -> int:
        """Of a program: one warpgroup fetches."""
        return 128 * (self.consumers + 1)

    @property
    def registers_bound(self) -> int:
        """Sums that a thread holds: a lower bound of its registers."""
        return self.block_n // 2 * (1 + bool(self.promote) + (self.pieces == 2))

    def programs(self, m: int, n: int, most: int, batch: int = 1) -> int:
        """Programs of a launch on `most` SMs: as many as run at once walk over the tiles."""
        tiles, at_once = self.tiles(m, n, batch), most * self.resident // self.together * self.together
        return tiles * self.shares if self.shares > 1 else min(tiles, at_once)

    def tiles(self, m: int, n: int, batch: int = 1) -> int:
        """Tiles of all D (m, n) of a batch, as many as programs walk over."""
        rows, columns = (n, m) if self.swapped else (m, n)
        down, across = ceil_div(rows, self.block_m), ceil_div(columns, self.block_n)
        return batch * round_up(down, self.spread) * round_up(across, self.across)

    @property
    def together(self) -> int:
        """Programs of a cluster that have tiles of their own."""
        return self.spread * self.across

    @property
    def cluster(self) -> int:
        """Programs of a cluster."""
        return self.together * self.parts

    @property
    def shares(self) -> int:
        """Programs that share k of one tile."""
        return self.parts * self.groups

    def macros(self) -> dict[str, object]:
        """What the text asks for by name."""
        return {
            "BLOCK_N": self.block_n,
            "HALVES": self.halves,
            "CONSUMERS": self.consumers,
            "STAGES": self.stages,
            "TILE_K": self.tile_k,
            "PIECES": self.pieces,
            "PROMOTE": self.promote,
            "A_SIDES": int(self.a_sides),
            "B_SIDES": int(self.b_sides),
            "SWAPPED": int(self.swapped),
            "OUT": self.store,
            "OUT_PAIR": f'"{"bf16" if self.d_format == "float32" else OUTPUTS[self.d_format]}x2"',
            "STORE_N": self.store_n,
            "BLOCKS": self.blocks,
            "LAG": self.lag,
            "SPREAD": self.spread,
            "ACROSS": self.across,
            "RESIDENT": self.resident,
            "PARTS": self.parts,
            "GROUPS": self.groups,
            "LATER": int(self.later),
            "LEAN": int(self.lean),
            "HOLD": int(self.hold),
            "EARLY": int(self.early),
            "BATCHED": int(self.batched),
        }

    def instruction(self) -> str:
        """The function `wgmma`, whose registers are as many as it has columns: the tile's, or half of them."""
        columns = self.block_n // self.halves
        count = columns // 2
        registers = ", ".join(f"%{at}" for at in range(count))
        k = PRODUCTS_BYTES * 8 // bits_of(self.a_format)
        name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{k}.f32.{INPUTS[self.a_format]}.{INPUTS[self.b_format]}"
        turned = f", {int(self.a_sides)}, {int(self.b_sides)}" if bits_of(self.a_format) == 16 else ""
        outputs = ", ".join(f'"+f"(sums[{at}])' for at in range(count))
        return (
            f"DEVICE void wgmma(float (&sums)[{count}], u64 a, u64 b, int add) {{\n"
            f'  asm volatile("{{\\n.reg .pred add;\\nsetp.ne.b32 add, %{count + 2}, 0;\\n'
            f'{name} {{{registers}}}, %{count}, %{count + 1}, add, 1, 1{turned};\\n}}"\n'
            f'               : {outputs}\n               : "l"(a), "l"(b), "r"(add));\n}}\n'
        )

    def text(self) -> tuple[str, dict[str, str]]:
        """The kernel's text with its macros before it, and the headers that it includes by name."""
        return self.text_of("gemm.cu", self.macros())

    @property
    def slices(self) -> int:
        """Warps of a block that adds sums later, each those of some groups."""
        return min(MOST_SLICES, ceil_div(self.groups, SLICE_GROUPS))

    @property
    def beside(self) -> int:
        """Warps of such a block for each of them: about four in all."""
        return max(1, 4 // self.slices)

    def added(self, m: int, n: int, sms: int, batch: int = 1) -> tuple[int, int]:
        """Blocks of the launch that adds later all sums of D (m, n), and shared memory that each asks for.

        It uses none of that: where the launch is held back, as much is asked for as keeps its blocks from the few SMs
        that had no program, which would take them all.
        """
        blocks = self.tiles(m, n, batch) * self.block_m * self.block_n // (ADDED * self.beside)
        on_an_sm = ceil_div(blocks, sms)
        own = BLOCK_BYTES + 16 * 32 * self.slices * self.beside
        room = SM_SHARED_BYTES // on_an_sm - own
        return blocks, room // BLOCK_BYTES * BLOCK_BYTES if self.hold and room > 0 else 0

    def adds_text(self) -> tuple[str, dict[str, str]]:
        """The same of the kernel that adds the groups' sums; what it does not ask for is left out of its macros."""
        return self.text_of(
            "adds.cu",
            {"SLICES": self.slices, "BESIDE": self.beside} | self.macros() | {"STAGES": 2, "BLOCKS": 1, "EARLY": 0},
        )

    def text_of(self, name: str, macros: dict[str, object]) -> tuple[str, dict[str, str]]:
        """A file's text behind macros, and the headers that it includes."""
        head = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
        headers = {each: (FOLDER / each).read_text(encoding="utf-8") for each in HEADERS}
        headers["products.cuh"] = headers["products.cuh"].replace("WGMMA_TEXT\n", self.instruction())
        return head + (FOLDER / name).read_text(encoding="utf-8"), headers

// Before the text of every rung: where A, B and C lie, loads that can be counted, and the adapter's choice of a tile.
// In and Out, the types of an operand and of the result, stand before this text. A sum is a float32.

// the index of the first element, and how many elements lie between two rows and between two columns
struct Matrix { first: u32, row: u32, column: u32 }
struct Problem { m: u32, n: u32, k: u32, @align(16) a: Matrix, @align(16) b: Matrix, @align(16) c: Matrix }

@group(0) @binding(0) var<uniform> problem: Problem;
@group(0) @binding(1) var<storage, read> a: array<In>;
@group(0) @binding(2) var<storage, read> b: array<In>;
@group(0) @binding(3) var<storage, read_write> c: array<Out>;
@group(0) @binding(4) var<storage, read_write> loads: array<atomic<u32>, 4>;  // of A, of B: low word, high word

override TILE: u32 = 16;          // invocations of a workgroup along x and along y
override COUNTED: bool = false;   // where it is false, what counts is compiled away

var<private> loads_of_a: u32;
var<private> loads_of_b: u32;

fn a_at(row: u32, column: u32) -> f32 {
  loads_of_a++;
  return f32(a[problem.a.first + row * problem.a.row + column * problem.a.column]);
}

fn b_at(row: u32, column: u32) -> f32 {
  loads_of_b++;
  return f32(b[problem.b.first + row * problem.b.row + column * problem.b.column]);
}

fn set_c(row: u32, column: u32, value: f32) {
  c[problem.c.first + row * problem.c.row + column] = Out(value);
}

// A sum of 32 bits wraps round at most once an addition: whoever wraps it carries.
fn tally() {
  if (COUNTED) {
    if (atomicAdd(&loads[0], loads_of_a) + loads_of_a < loads_of_a) { atomicAdd(&loads[1], 1u); }
    if (atomicAdd(&loads[2], loads_of_b) + loads_of_b < loads_of_b) { atomicAdd(&loads[3], 1u); }
  }
}

// One's own kernel for `gemmlab run`: an invocation computes 4 outputs of a column, so that it fetches each element of B
// once for all of them. A workgroup is 64 invocations, so it computes 4 rows and 64 columns of C: `;tile=4x64`.

struct Sides { m: u32, n: u32, k: u32 }

@group(0) @binding(0) var<uniform> sides: Sides;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_id) place: vec3u) {
  let top = 4u * tile.y;
  let column = 64u * tile.x + place.x;
  if (column >= sides.n) { return; }
  var total = vec4f();
  for (var i = 0u; i < sides.k; i++) {
    let value = b[i * sides.n + column];
    for (var row = 0u; row < 4u; row++) {
      if (top + row < sides.m) { total[row] += a[(top + row) * sides.k + i] * value; }
    }
  }
  for (var row = 0u; row < 4u; row++) {
    if (top + row < sides.m) { c[(top + row) * sides.n + column] = total[row]; }
  }
}

// Tiled: a workgroup stages a tile of each operand in its own memory, so that each element is fetched once a workgroup.
// What lies past an edge is staged as zero and changes no sum.

var<workgroup> a_tile: array<f32, TILE * TILE>;
var<workgroup> b_tile: array<f32, TILE * TILE>;

@compute @workgroup_size(TILE, TILE)
fn kernel(@builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_id) place: vec3u) {
  let row = tile.y * TILE + place.y;
  let column = tile.x * TILE + place.x;
  let own = place.y * TILE + place.x;
  var total = 0f;
  for (var start = 0u; start < problem.k; start += TILE) {
    a_tile[own] = 0f;
    if (row < problem.m && start + place.x < problem.k) {
      a_tile[own] = a_at(row, start + place.x);
    }
    b_tile[own] = 0f;
    if (start + place.y < problem.k && column < problem.n) {
      b_tile[own] = b_at(start + place.y, column);
    }
    workgroupBarrier();  // nobody reads a tile before all of it is there
    for (var i = 0u; i < TILE; i++) {
      total += a_tile[place.y * TILE + i] * b_tile[i * TILE + place.x];
    }
    workgroupBarrier();  // nobody overwrites a tile that another still reads
  }
  if (row < problem.m && column < problem.n) {
    set_c(row, column, total);
  }
  tally();
}

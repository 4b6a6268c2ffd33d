// Naive: one invocation an output, both operands straight from storage.

@compute @workgroup_size(TILE, TILE)
fn kernel(@builtin(global_invocation_id) place: vec3u) {
  let row = place.y;
  let column = place.x;
  if (row < problem.m && column < problem.n) {
    var total = 0f;
    for (var i = 0u; i < problem.k; i++) {
      total += a_at(row, i) * b_at(i, column);
    }
    set_c(row, column, total);
  }
  tally();
}

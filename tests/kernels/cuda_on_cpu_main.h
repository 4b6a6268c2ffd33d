// Multiplies small integers, which every order of summing gives exactly, and counts elements of C's storage that are wrong.
static int element(int seed) { return (seed * 7919 + seed / 13) % 7 - 3; }

int main(int, char** words) {
  const int m = atoi(words[1]), n = atoi(words[2]), k = atoi(words[3]), gap = atoi(words[4]);
  const int across = atoi(words[5]), down = atoi(words[6]), block_m = atoi(words[7]), block_n = atoi(words[8]);
  tile_bytes = atoi(words[9]);
  late = atoi(words[10]);
  const int lda = k + gap, ldb = n + gap, ldc = n + gap;
  std::vector<float4> a_storage(m * lda / 4 + 1), b_storage(k * ldb / 4 + 1), c_storage(m * ldc / 4 + 1);
  float *a = (float*)a_storage.data(), *b = (float*)b_storage.data(), *c = (float*)c_storage.data();
  for (int i = 0; i < m * lda; i++) a[i] = i % lda < k ? element(i) : NAN;
  for (int i = 0; i < k * ldb; i++) b[i] = i % ldb < n ? element(i + 5) : NAN;
  for (int i = 0; i < m * ldc; i++) c[i] = 777;
  for (int row = 0; row * block_m < m; row++)
    for (int column = 0; column * block_n < n; column++) {
      blockIdx = {column, row, 0};
      for (float& word : tiles) word = NAN;
      std::barrier<> all(across * down);
      meeting = &all;
      std::vector<std::thread> threads;
      for (int i = 0; i < across * down; i++)
        threads.emplace_back([=] {
          threadIdx = {i % across, i / across, 0};
          kernel(a, b, c, m, n, k, lda, ldb, ldc);
          meeting->arrive_and_drop();
        });
      for (std::thread& thread : threads) thread.join();
    }
  int wrong = 0;
  for (int i = 0; i < m * ldc; i++) {
    float expected = i % ldc < n ? 0 : 777;  // nothing is written between the rows
    for (int l = 0; i % ldc < n && l < k; l++) expected += a[i / ldc * lda + l] * b[l * ldb + i % ldc];
    wrong += !(c[i] == expected);
  }
  printf("%d\n", wrong);
}

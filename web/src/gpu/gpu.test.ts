import { describe, expect, test } from 'vitest';
import texts from '../data/wgsl.json';
import { describe as adapterOf, open } from './adapter';
import { careful, check, chosenRows, type Careful } from './checker';
import { Fault } from './fault';
import { fromHalf, toHalf } from './half';
import { requireKernel, requireProblem, type Limits } from './needs';
import { operands } from './operands';
import { barriers, source, workgroupBytes, type Dialect, type Variant } from './wgsl';

const plain: Dialect = { format: 'float32', counted: false, constants: 'literal' };
const tiled = (tile: number, ...without: number[]): Variant => ({ kernel: 'tiled', tile, without });
const naive: Variant = { kernel: 'naive', tile: 16, without: [] };

describe('texts', () => {
  test('with overrides it is the text that the package runs, behind the names of its types', () => {
    for (const kernel of ['naive', 'tiled'] as const) {
      const found = source({ kernel, tile: 16, without: [] }, { ...plain, constants: 'override' });
      expect(found).toBe(`alias In = f32;\nalias Out = f32;\n${texts.operands}${texts[kernel]}`);
    }
  });

  test.each([4, 8, 16])('tile %i and counting are written as numbers', (tile) => {
    const found = source(tiled(tile), { ...plain, counted: true });
    expect(found).toContain(`const TILE: u32 = ${tile};`);
    expect(found).toContain('const COUNTED: bool = true;');
    expect(found).not.toContain('override ');
    expect(workgroupBytes(tiled(tile))).toBe(8 * tile * tile);
  });

  test('a barrier is left out alone, and lines keep their numbers', () => {
    expect([barriers('naive'), barriers('tiled')]).toEqual([0, 2]);
    const whole = source(tiled(8), plain).split('\n');
    for (const which of [0, 1]) {
      const broken = source(tiled(8, which), plain).split('\n');
      const differs = whole.flatMap((line, i) => (line === broken[i] ? [] : [i]));
      expect(broken).toHaveLength(whole.length);
      expect(differs).toHaveLength(1);
      expect(whole[differs[0]!]).toContain('workgroupBarrier()');
      expect(broken.join('\n').split('workgroupBarrier();')).toHaveLength(2);
    }
    expect(source(tiled(8, 0, 1), plain)).not.toContain('workgroupBarrier');
    expect(() => source({ ...naive, without: [0] }, plain)).toThrow('0 barriers');
  });

  test('float16 is enabled first', () => {
    expect(source(naive, { ...plain, format: 'float16' })).toMatch(/^enable f16;\nalias In = f16;/);
  });
});

describe('operands and the careful answer', () => {
  const shape = { m: 17, n: 13, k: 29 };
  const drawn = operands(shape, 7);
  const answer = (rows?: number[]): Careful => {
    const work = careful(shape, drawn, rows);
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
      expect(step.value).toBeLessThanOrEqual(1);
    }
  };
  const product = () => {
    const found = new Float32Array(shape.m * shape.n);
    for (let row = 0; row < shape.m; row++)
      for (let column = 0; column < shape.n; column++) {
        let sum = 0;
        for (let i = 0; i < shape.k; i++)
          sum = Math.fround(sum + Math.fround(drawn.a[row * shape.k + i]! * drawn.b[i * shape.n + column]!));
        found[row * shape.n + column] = sum;
      }
    return found;
  };

  test('a seed gives the same numbers, another gives others, and float16 holds all of them', () => {
    expect(operands(shape, 7)).toEqual(drawn);
    expect(operands(shape, 8).a).not.toEqual(drawn.a);
    const half = operands(shape, 7, true);
    expect([...half.a, ...half.b].every((value) => fromHalf(toHalf(value)) === value)).toBe(true);
    expect(drawn.a.some((value) => fromHalf(toHalf(value)) !== value)).toBe(true);
    expect(Math.min(...drawn.a)).toBeGreaterThanOrEqual(-1);
    expect(new Set(drawn.a).size).toBeGreaterThan(drawn.a.length / 2);
  });

  test('a float32 product is within the bound, whatever it is filled with before', () => {
    expect(check(product(), answer())).toMatchObject({ right: true, wrong: 0, compared: 221, first: null });
  });

  test('one element that is off, unwritten or infinite is found', () => {
    const off = product();
    off[30]! += 1e-3;
    expect(check(off, answer())).toMatchObject({ right: false, wrong: 1, first: [2, 4], unwritten: 0 });
    const unwritten = product().fill(NaN, 5, 7);
    expect(check(unwritten, answer())).toMatchObject({ right: false, wrong: 2, unwritten: 2 });
    const infinite = product();
    infinite[0] = Infinity;
    expect(check(infinite, answer())).toMatchObject({ right: false, wrong: 1, infinite: 1 });
  });

  test('rows that are not reckoned must at least be written', () => {
    const rows = chosenRows(shape, 5 * shape.n * shape.k);
    expect(rows).toHaveLength(5);
    expect([rows[0], rows.at(-1)]).toEqual([0, 16]);
    const unseen = Array.from({ length: 17 }, (_, row) => row).find((row) => !rows.includes(row))!;
    const found = product();
    found[unseen * shape.n] = NaN;
    expect(check(found, answer(rows))).toMatchObject({ right: false, wrong: 0, unwritten: 1, rows: 5 });
  });

  test('a float16 result may be rounded once more, and no further', () => {
    const rounded = product().map((value) => fromHalf(toHalf(value)));
    expect(check(rounded, answer()).right).toBe(false);
    expect(check(rounded, answer(), true).right).toBe(true);
    rounded[3]! += 0.02;
    expect(check(rounded, answer(), true).wrong).toBe(1);
  });
});

test('float16: every value is read and written again, and what lies between goes to the nearest, ties to even', () => {
  for (let bits = 0; bits < 0x10000; bits++) {
    const value = fromHalf(bits);
    if (Number.isNaN(value)) expect(toHalf(value) & 0x7fff).toBeGreaterThan(0x7c00);
    else expect(toHalf(value)).toBe(bits);
  }
  for (let bits = 0; bits < 0x7bff; bits++) {
    const [low, high] = [fromHalf(bits), fromHalf(bits + 1)];
    const middle = (low + high) / 2;
    expect(toHalf(middle)).toBe(bits + (bits % 2));
    expect(toHalf(Math.fround(middle + (high - low) / 8))).toBe(bits + 1);
    expect(toHalf(Math.fround(middle - (high - low) / 8))).toBe(bits);
  }
  expect([65519, 65520, 1e30, -1e30].map(toHalf)).toEqual([0x7bff, 0x7c00, 0x7c00, 0xfc00]);
});

describe('what a device cannot do is told before anything is allocated', () => {
  const limits: Limits = {
    maxBufferSize: 2 ** 28,
    maxStorageBufferBindingSize: 2 ** 27,
    maxComputeWorkgroupStorageSize: 16384,
    maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupsPerDimension: 65535,
  };
  const fault = (work: () => void) => {
    try {
      work();
    } catch (error) {
      return error instanceof Fault ? [error.what, error.given] : error;
    }
    return null;
  };
  const shape = { m: 64, n: 64, k: 64 };

  test.each([
    [() => requireProblem(shape, 'bfloat16', limits, true), ['format', { format: 'bfloat16' }]],
    [() => requireProblem(shape, 'float16', limits, false), ['half', {}]],
    [() => requireProblem(shape, 'float16', limits, true), null],
    [
      () => requireProblem({ m: 8192, n: 2, k: 8192 }, 'float32', limits, false),
      ['buffer', { matrix: 'A', needed: 2 ** 28, most: 2 ** 27 }],
    ],
    [() => requireProblem({ m: 8192, n: 2, k: 8192 }, 'float16', limits, true), null],
    [() => requireKernel(shape, tiled(16), limits), null],
    [() => requireKernel(shape, tiled(32), limits), ['tile', { tile: 32, needed: 1024, most: 256, widest: 16 }]],
    [
      () => requireKernel(shape, tiled(64), { ...limits, maxComputeInvocationsPerWorkgroup: 4096 }),
      ['workgroup_memory', { tile: 64, needed: 32768, most: 16384 }],
    ],
    [
      () => requireKernel({ m: 1, n: 131072, k: 1 }, tiled(1), limits),
      ['workgroups', { n: 131072, tile: 1, needed: 131072, most: 65535, widest: 65535 }],
    ],
    [() => requireKernel({ m: 131072, n: 1, k: 1 }, tiled(1), limits), null],
  ])('%#', (work, wanted) => {
    expect(fault(work)).toEqual(wanted);
  });

  test('no WebGPU, no adapter, a request refused', async () => {
    const what = async (gpu: unknown) => (await open(gpu as GPU).catch((error: Fault) => error)) as Fault;
    expect((await what(undefined)).what).toBe('no_webgpu');
    expect((await what({ requestAdapter: async () => null })).what).toBe('no_adapter');
    const refused = await what({ requestAdapter: () => Promise.reject(new Error('not\nnow')) });
    expect([refused.what, refused.given]).toEqual(['refused', { reason: 'not now' }]);
  });

  test('software adapters are known by their word or their name', () => {
    const told = (info: object, isFallbackAdapter?: boolean) =>
      adapterOf({ info, ...(isFallbackAdapter === undefined ? {} : { isFallbackAdapter }) }, []);
    expect(told({ vendor: 'google', architecture: 'swiftshader' })).toMatchObject({ software: true });
    expect(told({ vendor: 'mesa', description: 'llvmpipe (LLVM 15)' })).toMatchObject({ software: true });
    expect(told({ vendor: 'nvidia', architecture: 'ada', isFallbackAdapter: true }).software).toBe(true);
    expect(told({ vendor: 'x' }, true).software).toBe(true);
    expect(told({ vendor: 'apple', architecture: 'metal-3' })).toMatchObject({
      software: false,
      name: 'apple metal-3',
    });
  });
});

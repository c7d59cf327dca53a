// A tensor: a handle that the library gave out. It lives until dispose() or until the scope ends in which it was made.

import { KilnError } from './runtime.js';

/** The library's dtypes: their numbers, and the arrays that hold their elements. f16 and bf16 are read as f32. */
export const DTYPES = {
  f64: { code: 1, array: Float64Array },
  f32: { code: 2, array: Float32Array },
  f16: { code: 3, array: Uint16Array, cast: 'f32' },
  bf16: { code: 4, array: Uint16Array, cast: 'f32' },
  i64: { code: 5, array: BigInt64Array },
  i32: { code: 6, array: Int32Array },
  i16: { code: 7, array: Int16Array },
  i8: { code: 8, array: Int8Array },
  u64: { code: 9, array: BigUint64Array },
  u32: { code: 10, array: Uint32Array },
  u16: { code: 11, array: Uint16Array },
  u8: { code: 12, array: Uint8Array },
  bool: { code: 13, array: Uint8Array },
};
export const NAMES = Object.fromEntries(Object.entries(DTYPES).map(([name, { code }]) => [code, name]));

export function dtypeOf(array) {
  if (array instanceof Uint8ClampedArray) return 'u8';
  for (const [name, { array: Type }] of Object.entries(DTYPES)) if (array instanceof Type && !DTYPES[name].cast) return name;
  throw new KilnError('data is an array of numbers or a typed array', 'DTYPE');
}

export class Tensor {
  #handle;
  #kiln;

  constructor(kiln, handle) {
    this.#kiln = kiln;
    this.#handle = handle;
    const { runtime } = kiln;
    runtime.scratch((take) => {
      const dims = take(64);
      const rank = runtime.exports.kjs_shape(handle, dims);
      if (rank < 0) throw runtime.error();
      this.shape = Object.freeze(Array.from(runtime.longs.subarray(dims / 8, dims / 8 + rank), Number));
    });
    this.dtype = NAMES[runtime.exports.kn_dtype_of(handle)] ?? 'other';
    this.size = this.shape.reduce((product, n) => product * n, 1);
  }

  get kiln() { return this.#kiln; }
  get rank() { return this.shape.length; }
  get disposed() { return this.#handle === 0n; }

  get handle() {
    if (this.#handle === 0n) throw new KilnError('this tensor was disposed of, by dispose() or with its scope', 'HANDLE');
    return this.#handle;
  }

  dispose() {
    if (this.#handle !== 0n && this.#kiln.runtime.exports) this.release(this.#kiln.runtime.exports, this.#handle);
    this.#handle = 0n;
  }

  release(exports, handle) {
    exports.kn_drop(handle);
  }

  /** All elements, in row-major order, as a typed array of the dtype (f16 and bf16: of f32; bool: of 0 and 1). */
  async data() {
    return this.#kiln.read(this);
  }

  /** The elements as nested arrays; a number for rank 0. */
  async array() {
    const flat = await this.data();
    let at = 0;
    const nest = (axis) =>
      axis === this.rank ? flat[at++] : Array.from({ length: this.shape[axis] }, () => nest(axis + 1));
    return nest(0);
  }

  /** The element of a tensor that has just one. */
  async item() {
    if (this.size !== 1) throw new KilnError(`item() wants one element; this tensor has ${this.size}`, 'SHAPE');
    return (await this.data())[0];
  }

  toString() {
    return `Tensor(${this.dtype}, [${this.shape.join(', ')}])`;
  }

  add(other) { return this.#kiln.add(this, other); }
  sub(other) { return this.#kiln.sub(this, other); }
  mul(other) { return this.#kiln.mul(this, other); }
  div(other) { return this.#kiln.div(this, other); }
  matmul(other) { return this.#kiln.matmul(this, other); }
  reshape(...shape) { return this.#kiln.reshape(this, { shape: shape.flat() }); }
  cast(dtype) { return this.#kiln.cast(this, { dtype }); }
}

/** A value that trains: ops never take it, set() replaces it in place. */
export class Param extends Tensor {
  release(exports, handle) {
    exports.kjs_param_drop(handle);
  }

  set(value) {
    const { runtime } = this.kiln;
    runtime.check(runtime.exports.kjs_param_set(this.handle, value.handle));
  }
}

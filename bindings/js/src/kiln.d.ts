// The types of the package. The ops are in ops.d.ts, which is generated.

import { Ops } from './ops.js';

export type DType = 'f64' | 'f32' | 'f16' | 'bf16' | 'i64' | 'i32' | 'i16' | 'i8' | 'u64' | 'u32' | 'u16' | 'u8' | 'bool';
export type Elements = Float64Array | Float32Array | BigInt64Array | BigUint64Array | Int32Array | Int16Array | Int8Array | Uint32Array
  | Uint16Array | Uint8Array;
export type Nested = number | bigint | boolean | Nested[];
/** A number becomes a tensor of rank 0 of the dtype of the first tensor operand. */
export type Operand = Tensor | number | bigint | boolean;

/** What the library refuses. */
export declare class KilnError extends Error {
  constructor(message: string, code?: string);
  /** The library's status: 'ARGUMENT', 'SHAPE', 'DTYPE', 'HANDLE', 'MEMORY', 'DEVICE', 'INDEX', 'UNSUPPORTED', 'GRADIENT', 'IO' ... */
  code: string;
}

export interface KilnOptions {
  /** How many threads: a number, or 'auto'. 1 where memory cannot be shared. */
  threads?: number | 'auto';
  /** 'autodiff(cpu)' unless it is told. */
  device?: string;
  /** 'small' infers small networks alone and loads faster. */
  build?: 'full' | 'small';
  /** A module of your own: its address or its bytes. */
  wasm?: string | URL | ArrayBuffer | Uint8Array;
  seed?: number | bigint;
  /** false: the browser's WebGPU is left alone. */
  gpu?: boolean;
  /** The most bytes that threads may share: 2 GiB unless it is told. */
  memory?: number;
  /** Variables such as KN_REPRODUCIBLE. */
  environment?: Record<string, string>;
  log?: (line: string) => void;
}

/** Loads the library. */
export declare function kiln(options?: KilnOptions): Promise<Kiln>;
/** Whether threads can share memory here. */
export declare function canShareMemory(): boolean;

export declare class Tensor {
  protected constructor();
  readonly kiln: Kiln;
  readonly shape: readonly number[];
  readonly dtype: DType | 'other';
  readonly rank: number;
  readonly size: number;
  readonly disposed: boolean;
  dispose(): void;
  /** All elements, in row-major order. */
  data(): Promise<Elements>;
  array(): Promise<Nested>;
  item(): Promise<number | bigint>;
  add(other: Operand): Tensor;
  sub(other: Operand): Tensor;
  mul(other: Operand): Tensor;
  div(other: Operand): Tensor;
  matmul(other: Tensor): Tensor;
  reshape(...shape: number[] | [number[]]): Tensor;
  cast(dtype: DType): Tensor;
}

/** A value that trains: ops never take it. */
export declare class Param extends Tensor {
  set(value: Tensor): void;
}

export declare class Gradients {
  get(param: Param): Tensor | null;
  dispose(): void;
}

export interface Optimiser {
  lr: number;
  readonly steps: number;
  step(gradients: Gradients): void;
  dispose(): void;
}
export interface SgdOptions { lr?: number; momentum?: number; dampening?: number; weightDecay?: number; nesterov?: boolean }
export interface AdamOptions { lr?: number; beta1?: number; beta2?: number; eps?: number; weightDecay?: number; decoupled?: boolean }

export interface Port {
  name: string;
  kind: 'nothing' | 'tensor' | 'strings' | 'sequence' | 'optional' | 'map' | 'other';
  dtype: DType | null;
  /** Numbers, and names of sizes that are known when the model runs; null: any shape. */
  shape: (number | string)[] | null;
  type: string;
  shapeText: string;
  hasDefault: boolean;
}

export declare class OnnxModel {
  private constructor();
  readonly inputs: Port[];
  readonly outputs: Port[];
  inspect(): string;
  run(inputs: Record<string, Tensor> | (Tensor | null)[]): Record<string, Tensor | null>;
  dispose(): void;
}

export interface KernelParameter {
  name: string;
  role: 'in' | 'inout' | 'out' | 'temp' | 'number';
  /** Of a buffer: 'T', 'i' (any integer), 'r' (any float) or '.' for the dtype. */
  type: string;
  dtype: DType | null;
  /** Of a number: 0, or the elements of an array. */
  count: number;
}
export interface KernelRun {
  items?: number;
  numbers?: Record<string, number | number[]> | number[];
  shapes?: number[][];
  temps?: number[];
  /** In the interpreter that finds mistakes. */
  checked?: boolean;
}
export declare class Kernel {
  private constructor();
  readonly parameters: KernelParameter[];
  text(target: string): string;
  run(operands: Tensor[], options?: KernelRun): Tensor[];
  dispose(): void;
}

export declare class Kiln extends Ops {
  private constructor();
  readonly version: string;
  readonly threads: number;
  /** What the device 'webgpu:0' is; null where the browser gives none, and webgpuMissing says why. */
  readonly webgpu: string | null;
  readonly webgpuMissing: string | null;
  readonly device: string;
  /** The memory of the module. */
  readonly bytes: number;
  end(): void;
  use(device: string): void;
  deviceNames(): string[];
  seed(seed: number | bigint): void;
  tensor(data: Nested | Elements | Uint8ClampedArray, shape?: number[], dtype?: DType): Tensor;
  tensor(data: Nested | Elements | Uint8ClampedArray, dtype: DType): Tensor;
  zeros(shape: number[], dtype?: DType): Tensor;
  ones(shape: number[], dtype?: DType): Tensor;
  random(shape: number[], low?: number, high?: number, dtype?: DType): Tensor;
  param(tensor: Tensor): Param;
  /** What body makes is disposed of at its end, but for what it returns. */
  scope<T>(body: () => T): T;
  backward(loss: Tensor): Gradients;
  noGrad<T>(body: () => T): T;
  sgd(params: Iterable<Param>, options?: SgdOptions): Optimiser;
  adam(params: Iterable<Param>, options?: AdamOptions): Optimiser;
  adamw(params: Iterable<Param>, options?: AdamOptions): Optimiser;
  load(bytes: ArrayBuffer | Uint8Array): Record<string, Tensor>;
  save(tensors: Record<string, Tensor>): Uint8Array;
  onnx(bytes: ArrayBuffer | Uint8Array): OnnxModel;
  kernel(source: string): Kernel;
  kernelTargets(): string[];
}

export declare namespace nn {
  class Module {
    named(prefix?: string): Generator<[string, Param]>;
    params(): Param[];
    state(): Record<string, Param>;
    load(tensors: Record<string, Tensor>): void;
    dispose(): void;
  }
  class Linear extends Module {
    constructor(kn: Kiln, inputs: number, outputs: number);
    weight: Param;
    bias: Param;
    forward(x: Tensor): Tensor;
  }
  class Conv2d extends Module {
    constructor(kn: Kiln, inputs: number, outputs: number, size: number, options?: { stride?: number; padding?: number });
    weight: Param;
    bias: Param;
    forward(x: Tensor): Tensor;
  }
  function maxPool2d(x: Tensor, size: number): Tensor;
  function crossEntropy(scores: Tensor, labels: Tensor): Tensor;
}

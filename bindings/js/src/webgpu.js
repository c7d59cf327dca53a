// WebGPU for the library: the functions that its module `webgpu` asks for. A worker owns the device (webgpu_device.js) and does in order
// what it is sent. Its answers come in boxes, pieces of shared memory, so a thread that may sleep waits for them; that of a page asks again.

import { isNode, canShareMemory, maySleep } from './runtime.js';

const PATIENCE = 20000; // milliseconds for an adapter and a device
const NAP = 1000; // milliseconds between two looks at a box
const TEXT_ROOM = 1024;
// A box: a state and a length, 32 bits each, then bytes.
const BOX_HEAD = 8;
const PENDING = 0;
const THERE = 1;
const TROUBLE_LOST = 2;

const makeBox = (bytes) => new Int32Array(new SharedArrayBuffer(BOX_HEAD + Math.ceil(bytes / 4) * 4));
const boxBytes = (box, from = 0, to = box[1]) => new Uint8Array(box.buffer, BOX_HEAD + from, to - from).slice();
const boxText = (box) => new TextDecoder().decode(boxBytes(box));

function waitFor(box, milliseconds) {
  if (Atomics.load(box, 0) === PENDING) Atomics.wait(box, 0, PENDING, milliseconds);
  return Atomics.load(box, 0);
}

/** The device of the page, or why there is none. */
export class Gpu {
  #worker = null;
  #commands = [];
  #transfers = [];
  trouble = null;
  about = null;
  missing = null;

  /** Asks the browser for a device; what is missing is in `missing`, and nothing is thrown. */
  static async start() {
    const gpu = new Gpu();
    if (isNode || !globalThis.navigator?.gpu) gpu.missing = isNode ? 'node has no WebGPU' : 'this browser has no WebGPU, or it is switched off';
    else if (!canShareMemory()) gpu.missing = 'the page is not isolated: its server must send the headers COOP and COEP';
    else await gpu.#begin();
    return gpu;
  }

  async #begin() {
    this.trouble = makeBox(TEXT_ROOM);
    this.#worker = new Worker(new URL('./webgpu_device.js', import.meta.url), { type: 'module' });
    let timer;
    const answer = await new Promise((resolve) => {
      timer = setTimeout(() => resolve({ missing: 'the browser gives no device in time' }), PATIENCE);
      this.#worker.onmessage = ({ data }) => resolve(data);
      this.#worker.onerror = (event) => resolve({ missing: event.message || 'the worker of the device did not start' });
      this.#worker.postMessage([['begin', this.trouble]]);
    });
    clearTimeout(timer);
    this.about = answer.about ?? null;
    this.missing = answer.missing ?? null;
    this.fresh = this.about !== null; // nobody has used it
    if (!this.about) this.end();
  }

  /** Sent with the next flush. */
  send(command, transfers = []) {
    this.#commands.push(command);
    this.#transfers.push(...transfers);
  }

  flush() {
    if (this.#commands.length) this.#worker?.postMessage(this.#commands, this.#transfers);
    this.#commands = [];
    this.#transfers = [];
  }

  /** Sends a command with a box for its answer; the box once it is there, or at once where nobody may wait. */
  ask(command, room, milliseconds = 1e9) {
    const box = makeBox(room);
    this.send([...command, box]);
    this.flush();
    if (maySleep()) waitFor(box, milliseconds);
    return box;
  }

  /** The device's limits: those of the one that nobody used, or of a new one. */
  open() {
    if (this.fresh) {
      this.fresh = false;
      return this.about;
    }
    const box = this.ask(['open'], TEXT_ROOM, PATIENCE);
    return Atomics.load(box, 0) === THERE ? JSON.parse(boxText(box)) : null;
  }

  end() {
    this.#worker?.terminate();
    this.#worker = null;
  }
}

export function webgpuImports(runtime, gpu) {
  const readings = new Map();
  let refusal = ''; // of a pipeline, told with the trouble
  const slice = (at, bytes) => runtime.bytes.slice(at, at + bytes);
  const put = (text, at, room) => {
    const bytes = new TextEncoder().encode(text).subarray(0, room - 1);
    runtime.bytes.set(bytes, at);
    runtime.bytes[at + bytes.length] = 0;
  };
  const list = (at, n) => Array.from(new Uint32Array(runtime.memory.buffer, at, n));
  const LIMITS = ['maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup',
    'maxComputeWorkgroupsPerDimension', 'minUniformBufferOffsetAlignment', 'maxUniformBufferBindingSize'];
  return {
    there(at, room) {
      put(gpu?.about ? gpu.about.description : gpu?.missing ?? 'the library was loaded without it', at, room);
      return gpu?.about ? 1 : 0;
    },
    open(at) {
      const device = gpu.open();
      if (!device) return 0;
      const data = new DataView(runtime.memory.buffer);
      LIMITS.forEach((name, i) => data.setUint32(at + 4 * i, device.limits[name], true));
      data.setFloat64(at + 24, Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize), true);
      put(device.description, at + 32, 128);
      return 1;
    },
    close() {
      gpu.send(['close']);
      gpu.flush();
    },
    waits: () => (maySleep() ? 1 : 0),
    buffer: (id, bytes, numbers) => gpu.send(['buffer', id, bytes, numbers]),
    free: (id) => gpu.send(['free', id]),
    write(to, offset, from, bytes) {
      const data = slice(from, bytes);
      gpu.send(['write', to, offset, data], [data.buffer]);
    },
    copy: (from, fromOffset, to, toOffset, bytes) => gpu.send(['copy', from, fromOffset, to, toOffset, bytes]),
    clear: (id, offset, bytes) => gpu.send(['clear', id, offset, bytes]),
    pipeline(id, text, bytes, entry, access, width) {
      const code = new TextDecoder().decode(slice(text, bytes));
      const box = gpu.ask(['pipeline', id, { code, entry: runtime.text(entry), access: runtime.text(access), width }, maySleep()], TEXT_ROOM);
      if (Atomics.load(box, 0) <= THERE) return 1; // made, or nobody waits
      refusal = boxText(box);
      return 0;
    },
    dispatch: (pipeline, buffers, n, numbers, offset, bytes, groups) =>
      gpu.send(['dispatch', pipeline, list(buffers, n), numbers, offset, bytes, list(groups, 3)]),
    submit() {
      gpu.send(['submit']);
      gpu.flush();
    },
    wait() {
      gpu.ask(['done'], 0);
    },
    read(id, from, offset, bytes) {
      const box = makeBox(bytes);
      readings.set(id, box);
      gpu.send(['read', from, offset, bytes, box]);
      gpu.flush();
    },
    read_state: (id, wait) => (wait ? waitFor(readings.get(id), NAP) : Atomics.load(readings.get(id), 0)),
    read_end(id, to, skip, bytes) {
      const box = readings.get(id);
      if (to && Atomics.load(box, 0) === THERE) runtime.bytes.set(boxBytes(box, skip, skip + bytes), to);
      readings.delete(id);
    },
    trouble(at, room) {
      const state = gpu.trouble ? Atomics.load(gpu.trouble, 0) : 0;
      if (!state && !refusal) return 0;
      put(refusal || boxText(gpu.trouble), at, room);
      if (!refusal) Atomics.and(gpu.trouble, 0, TROUBLE_LOST);
      refusal = '';
      return state || 1;
    },
  };
}

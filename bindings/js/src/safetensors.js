// Files of weights, read and written by the library, which checks every length and checksum in them.

import { KilnError } from './runtime.js';

export function loadTensors(kiln, bytes) {
  const { runtime } = kiln;
  const { exports } = runtime;
  const data = runtime.give(bytes);
  const length = bytes.byteLength;
  const store = exports.kjs_store_open(data, length);
  const tensors = {};
  try {
    if (!store) throw runtime.error();
    const count = Number(exports.kn_store_count(store));
    for (let i = 0; i < count; i++) {
      const name = runtime.text(exports.kjs_store_name(store, BigInt(i)));
      Object.defineProperty(tensors, name, { // also where it is called __proto__
        value: kiln.adopt(exports.kn_store_tensor(store, BigInt(i))), enumerable: true, configurable: true, writable: true,
      });
    }
    return tensors;
  } catch (error) {
    for (const tensor of Object.values(tensors)) tensor.dispose();
    throw error;
  } finally {
    if (store) exports.kn_store_close(store);
    exports.kjs_free(data);
  }
}

export function saveTensors(kiln, tensors) {
  const { runtime } = kiln;
  const { exports } = runtime;
  const state = exports.kn_state_make();
  if (!state) throw runtime.error();
  try {
    return runtime.scratch((take) => {
      for (const [name, tensor] of Object.entries(tensors)) {
        if (!tensor?.handle) throw new KilnError(`'${name}' is no tensor`);
        runtime.check(runtime.scratch((text) => exports.kjs_state_put(state, runtime.writeText(text, name), tensor.handle)));
      }
      const cell = take(8);
      const length = Number(exports.kjs_state_write(state, cell));
      if (length < 0) throw runtime.error();
      const at = runtime.words[cell / 4] >>> 0;
      const bytes = runtime.bytes.slice(at, at + length);
      exports.kjs_free(at);
      return bytes;
    });
  } finally {
    exports.kn_state_free(state);
  }
}

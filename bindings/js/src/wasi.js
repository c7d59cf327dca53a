// What the C library inside the module asks of its host: clocks, random bytes, an environment, a place for texts. There are no files.

const NOT_THERE = 52; // "not supported", as WASI counts
const BAD_FILE = 8;

export function wasiImports(module, runtime, environment, log) {
  const entries = Object.entries(environment).map(([name, value]) => new TextEncoder().encode(`${name}=${value}\0`));
  const data = () => new DataView(runtime.memory.buffer);
  const lines = ['', '', ''];
  const known = {
    clock_time_get(clock, _precision, at) {
      const now = clock === 0 ? Date.now() : performance.now();
      data().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    random_get(at, length) {
      const bytes = new Uint8Array(length);
      for (let i = 0; i < length; i += 65536) globalThis.crypto.getRandomValues(bytes.subarray(i, i + 65536));
      new Uint8Array(runtime.memory.buffer).set(bytes, at);
      return 0;
    },
    environ_sizes_get(count, bytes) {
      data().setUint32(count, entries.length, true);
      data().setUint32(bytes, entries.reduce((sum, entry) => sum + entry.length, 0), true);
      return 0;
    },
    environ_get(list, texts) {
      for (const entry of entries) {
        data().setUint32(list, texts, true);
        new Uint8Array(runtime.memory.buffer).set(entry, texts);
        list += 4;
        texts += entry.length;
      }
      return 0;
    },
    fd_write(file, vectors, count, written) {
      if (file !== 1 && file !== 2) return BAD_FILE;
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = data().getUint32(vectors + 8 * i, true);
        const length = data().getUint32(vectors + 8 * i + 4, true);
        lines[file] += new TextDecoder().decode(new Uint8Array(runtime.memory.buffer).slice(at, at + length));
        total += length;
      }
      const whole = lines[file].split('\n');
      lines[file] = whole.pop();
      for (const line of whole) log(line);
      data().setUint32(written, total, true);
      return 0;
    },
    proc_exit(status) {
      throw new Error(`the library ended with status ${status}`);
    },
    sched_yield: () => 0,
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    if (from === 'wasi_snapshot_preview1') imports[name] = known[name] ?? (name.startsWith('fd_') ? () => BAD_FILE : () => NOT_THERE);
  return imports;
}

// Files in memory, for a module of WASI that reads a folder: a part of wasi_snapshot_preview1 over an object of paths and bytes.

const OK = 0;
const BAD_FILE = 8;
const NO_SUCH_FILE = 44;
const FOLDER = 3;
const FILE = 4;
const ROOT = 3; // the number of the folder that is there from the beginning

/** files: Map of path to Uint8Array. memory(): the module's memory. */
export function memoryFiles(files, memory, commandLine) {
  const opened = new Map([[ROOT, { path: '', folder: true, at: 0 }]]);
  let next = ROOT + 1;
  const data = () => new DataView(memory().buffer);
  const bytes = (at, length) => new Uint8Array(memory().buffer, at, length);
  const text = (at, length) => new TextDecoder().decode(bytes(at, length).slice());
  const isFolder = (path) => [...files.keys()].some((name) => name.startsWith(path ? `${path}/` : ''));
  const entries = (path) => [...new Set([...files.keys()].filter((name) => name.startsWith(path ? `${path}/` : ''))
    .map((name) => name.slice(path ? path.length + 1 : 0).split('/')[0]))];
  const words = commandLine.map((word) => new TextEncoder().encode(`${word}\0`));
  const stat = (at, folder, size) => {
    bytes(at, 64).fill(0);
    data().setUint8(at + 16, folder ? FOLDER : FILE);
    data().setBigUint64(at + 32, BigInt(size), true);
    return OK;
  };
  return {
    args_sizes_get(count, size) {
      data().setUint32(count, words.length, true);
      data().setUint32(size, words.reduce((sum, word) => sum + word.length, 0), true);
      return OK;
    },
    args_get(list, at) {
      for (const word of words) {
        data().setUint32(list, at, true);
        bytes(at, word.length).set(word);
        list += 4;
        at += word.length;
      }
      return OK;
    },
    fd_prestat_get(file, at) {
      if (file !== ROOT) return BAD_FILE;
      data().setUint32(at, 0, true);
      data().setUint32(at + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name(file, at) {
      if (file !== ROOT) return BAD_FILE;
      bytes(at, 1)[0] = 0x2e;
      return OK;
    },
    fd_fdstat_get(file, at) {
      const it = opened.get(file);
      if (!it && file > 2) return BAD_FILE;
      bytes(at, 24).fill(0);
      data().setUint8(at, !it ? 2 : it.folder ? FOLDER : FILE);
      data().setBigUint64(at + 8, ~0n & 0xffffffffn, true);
      data().setBigUint64(at + 16, ~0n & 0xffffffffn, true);
      return OK;
    },
    fd_filestat_get(file, at) {
      const it = opened.get(file);
      return it ? stat(at, it.folder, files.get(it.path)?.length ?? 0) : BAD_FILE;
    },
    path_filestat_get(folder, _flags, name, length, at) {
      const path = text(name, length);
      if (files.has(path)) return stat(at, false, files.get(path).length);
      return isFolder(path) ? stat(at, true, 0) : NO_SUCH_FILE;
    },
    path_open(folder, _look, name, length, _how, _rights, _inherited, _flags, result) {
      const path = text(name, length).replace(/^\.\/?/, '');
      if (!files.has(path) && !isFolder(path)) return NO_SUCH_FILE;
      opened.set(next, { path, folder: !files.has(path), at: 0 });
      data().setUint32(result, next++, true);
      return OK;
    },
    fd_close: (file) => (opened.delete(file) ? OK : BAD_FILE),
    fd_read(file, vectors, count, read) {
      const it = opened.get(file);
      if (!it || it.folder) return BAD_FILE;
      const from = files.get(it.path);
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = data().getUint32(vectors + 8 * i, true);
        const part = from.subarray(it.at, it.at + data().getUint32(vectors + 8 * i + 4, true));
        bytes(at, part.length).set(part);
        it.at += part.length;
        total += part.length;
      }
      data().setUint32(read, total, true);
      return OK;
    },
    fd_seek(file, offset, whence, result) {
      const it = opened.get(file);
      if (!it) return BAD_FILE;
      it.at = Number(offset) + (whence === 0 ? 0 : whence === 1 ? it.at : files.get(it.path).length);
      data().setBigUint64(result, BigInt(it.at), true);
      return OK;
    },
    fd_readdir(file, at, room, cookie, used) {
      const it = opened.get(file);
      if (!it?.folder) return BAD_FILE;
      let written = 0;
      entries(it.path).slice(Number(cookie)).every((name, i) => {
        const word = new TextEncoder().encode(name);
        const entry = new Uint8Array(24 + word.length);
        const view = new DataView(entry.buffer);
        view.setBigUint64(0, cookie + BigInt(i) + 1n, true);
        view.setUint32(16, word.length, true);
        view.setUint8(20, files.has(it.path ? `${it.path}/${name}` : name) ? FILE : FOLDER);
        entry.set(word, 24);
        const part = entry.subarray(0, room - written);
        bytes(at + written, part.length).set(part);
        written += part.length;
        return written < room;
      });
      data().setUint32(used, written, true);
      return OK;
    },
  };
}

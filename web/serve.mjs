// A small server for the pages, on this machine alone: node web/serve.mjs [--port 8080] [--root build/web] [--plain]
// It sends the headers that isolate pages (COOP, COEP), so that wasm gets threads; --plain leaves them out.

import { createServer } from 'node:http';
import { readFile, stat } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const here = path.dirname(fileURLToPath(import.meta.url));
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8', '.json': 'application/json', '.wasm': 'application/wasm', '.svg': 'image/svg+xml',
  '.gz': 'application/gzip', '.safetensors': 'application/octet-stream', '.onnx': 'application/octet-stream',
};
const COMPRESSED = new Set(['.html', '.js', '.css', '.json', '.wasm', '.svg', '.safetensors']);
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' blob: data:; worker-src 'self'; object-src 'none'; base-uri 'none'";

function option(name, fallback) {
  const at = process.argv.indexOf(name);
  return at >= 0 ? process.argv[at + 1] : fallback;
}

/** Where the address of a request lies on disk; null for nothing of ours. */
export function fileOf(address, root) {
  const places = [
    ['/kiln/', path.join(root, 'kiln')],
    ['/data/', path.join(here, '..', 'data', 'mnist')],
    ['/models/', path.join(here, '..', 'examples', 'mnist')],
    ['/', path.join(here, 'pages')],
  ];
  let name;
  try {
    name = decodeURIComponent(new URL(address, 'http://localhost').pathname);
  } catch {
    return null;
  }
  const [prefix, folder] = places.find(([start]) => name.startsWith(start));
  const rest = name.slice(prefix.length) || 'index.html';
  const file = path.resolve(folder, rest);
  return !name.includes('\0') && file.startsWith(folder + path.sep) ? file : null;
}

const packed = new Map(); // compressed files by their path, time and size

async function compress(file, about) {
  const key = `${file} ${about.mtimeMs} ${about.size}`;
  if (!packed.has(key)) packed.set(key, await promisify(gzip)(await readFile(file), { level: 9 }));
  return packed.get(key);
}

async function answer(request, response, root, isolated) {
  const headers = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', 'Content-Security-Policy': POLICY };
  if (isolated) Object.assign(headers, { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' });
  const refuse = (status, text) => response.writeHead(status, { ...headers, 'Content-Type': 'text/plain' }).end(`${text}\n`);
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405, 'only GET and HEAD are answered');
  const file = fileOf(request.url, root);
  const about = file && (await stat(file).catch(() => null));
  if (!about?.isFile()) return refuse(404, 'there is no such file');
  const ending = path.extname(file);
  headers['Content-Type'] = TYPES[ending] ?? 'application/octet-stream';
  if (COMPRESSED.has(ending) && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    const body = await compress(file, about);
    response.writeHead(200, { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': body.length });
    return response.end(request.method === 'HEAD' ? undefined : body);
  }
  response.writeHead(200, { ...headers, 'Content-Length': about.size });
  if (request.method === 'HEAD') return response.end();
  return createReadStream(file).on('error', () => response.destroy()).pipe(response);
}

/** Starts to serve and gives the address. port 0: any that is free. */
export async function serve({ port = 8080, root = path.join(here, '..', 'build', 'web'), isolated = true } = {}) {
  root = path.resolve(root);
  const server = createServer((request, response) => {
    answer(request, response, root, isolated).catch(() => response.destroy());
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}` };
}

if (process.argv[1] && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    const { address } = await serve({
      port: Number(option('--port', 8080)), root: option('--root', undefined), isolated: !process.argv.includes('--plain'),
    });
    console.log(`The pages are at ${address}/ (end with Ctrl-C)`);
  } catch (error) {
    console.error(`serve: ${error.message}; --port chooses another port`);
    process.exitCode = 1;
  }
}

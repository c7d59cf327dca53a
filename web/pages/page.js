// What the pages share: errors that are shown and do not end the page, numbers as text, and calls to a worker.

export const element = (id) => document.getElementById(id);

export function showError(error) {
  const place = element('error');
  place.textContent = error?.message ?? String(error);
  place.hidden = false;
}

export function clearError() {
  element('error').hidden = true;
}

/** Runs what a click or a key asks for; a failure is shown in the page. */
export function guarded(action) {
  return async (...given) => {
    try {
      await action(...given);
    } catch (error) {
      showError(error);
    }
  };
}

globalThis.addEventListener('unhandledrejection', (event) => showError(event.reason));
globalThis.addEventListener('error', (event) => showError(event.error ?? event.message));

export function percent(value, digits = 1) {
  return `${(100 * value).toFixed(digits)} %`;
}

/** A table of texts: rows of cells, the first row a heading. */
export function table(rows) {
  const result = document.createElement('table');
  rows.forEach((cells, i) => {
    const row = result.insertRow();
    for (const text of cells) {
      const cell = document.createElement(i ? 'td' : 'th');
      cell.textContent = text;
      row.append(cell);
    }
  });
  return result;
}

/** The first numbers of so many, as text. */
export function sample(values, count, most = 12) {
  const shown = Array.from(values.slice(0, most), (v) => (typeof v === 'number' && !Number.isInteger(v) ? v.toPrecision(5) : String(v)));
  return shown.join(', ') + (count > most ? ', …' : '');
}

/** A worker that answers calls. It can be begun again when it hangs or has died; calls that waited fail then. */
export class Remote {
  /** The worker's function `begin` is called first, and begun with what it gives; events hears what the worker tells by itself. */
  constructor(url, begun, events = () => {}) {
    this.url = url;
    this.begun = begun;
    this.events = events;
    this.waiting = new Map();
    this.count = 0;
    this.begin();
  }

  begin() {
    this.worker = new Worker(this.url, { type: 'module' });
    this.worker.onmessage = ({ data }) => {
      const call = this.waiting.get(data.call);
      if (!call) return this.events(data);
      this.waiting.delete(data.call);
      if (data.error === undefined) return call.resolve(data.result);
      call.reject(new Error(data.error));
      if (data.broken) this.restart(new Error('The library had failed and was loaded again.'));
    };
    // One that cannot be loaded would fail again.
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(new Error(`The worker failed: ${event.message ?? 'it could not be loaded'}. Load the page again.`));
    };
    this.started = this.#send('begin');
    this.started.then(this.begun, (error) => {
      element('status').textContent = 'The library could not be loaded';
      showError(error);
    });
  }

  #fail(reason) {
    this.worker.terminate();
    for (const call of this.waiting.values()) call.reject(reason);
    this.waiting.clear();
  }

  restart(reason) {
    this.#fail(reason);
    this.begin();
  }

  /** Calls a function of the worker's, once it has begun. After so many milliseconds it is ended and begun again. */
  async call(name, argument, options) {
    await this.started;
    return this.#send(name, argument, options);
  }

  #send(name, argument, { limit = 0, transfer = [] } = {}) {
    const call = ++this.count;
    return new Promise((resolve, reject) => {
      const timer = limit && setTimeout(() => this.restart(new Error(`It did not end within ${limit / 1000} seconds and was stopped.`)), limit);
      const done = (after) => (value) => {
        clearTimeout(timer);
        after(value);
      };
      this.waiting.set(call, { resolve: done(resolve), reject: done(reject) });
      this.worker.postMessage({ call, name, argument }, transfer);
    });
  }
}

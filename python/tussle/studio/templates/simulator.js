/** The simulator, compiled to WebAssembly: numbers in and out, and JSON in its memory. */
class Simulator {
  /** Compiles the module from gzip in base64. */
  static async load(packed) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
    return new Simulator(instance.exports);
  }

  constructor(wasm) {
    this.wasm = wasm;
  }

  get output() {
    const { memory, output, output_bytes: length } = this.wasm;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length()));
  }

  /** Opens what is asked for: `{settings: …}` of the studio or `{run: …}`. Throws an error with the reason. */
  open(asked) {
    const bytes = new TextEncoder().encode(JSON.stringify(asked));
    const place = this.wasm.input(bytes.length);
    new Uint8Array(this.wasm.memory.buffer, place, bytes.length).set(bytes);
    const number = this.wasm.open();
    if (!number) throw new Error(this.output);
    return new Simulation(this, number, JSON.parse(this.output));
  }
}

/** A simulation that advances as far as it is told to. */
class Simulation {
  constructor(simulator, number, run) {
    Object.assign(this, { simulator, number, run, isDone: false, nowNs: 0, samples: {}, links: {} });
  }

  get durationNs() {
    return this.run.duration_ns;
  }

  /** Simulates what happens before a time. */
  advance(untilNs) {
    const { wasm } = this.simulator;
    // The events at the end of the run belong to it.
    const state = wasm.advance(this.number, untilNs >= this.durationNs ? this.durationNs + 1 : untilNs);
    if (state > 1) throw new Error(this.simulator.output);
    this.isDone = state === 1;
    this.nowNs = Math.min(untilNs, this.durationNs);
  }

  /** Fetches the rows of `samples` and `links` since the last time. */
  fetch() {
    const { wasm } = this.simulator;
    wasm.time_series(this.number, rowsOf(this.samples), rowsOf(this.links));
    const { samples, links } = JSON.parse(this.simulator.output);
    append(this.samples, samples);
    append(this.links, links);
  }

  /** Ends the simulation; returns its tables as CSV, by name. */
  close() {
    this.simulator.wasm.close(this.number);
    return JSON.parse(this.simulator.output);
  }
}

function rowsOf(table) {
  return table.time_s?.length ?? 0;
}

/** A column may appear with a later row, as those of an algorithm do. */
function append(table, rows) {
  const before = rowsOf(table);
  for (const [name, values] of Object.entries(rows)) {
    table[name] ??= Array(before).fill(null);
    for (const value of values) table[name].push(value);
  }
}

/** A CSV table as an array of objects. */
function parsed(csv) {
  const [head, ...rows] = csv.trimEnd().split("\n").map((line) => line.split(","));
  return rows.map((cells) => Object.fromEntries(head.map((name, column) => [name, cells[column]])));
}

/** A set-up of the studio: as people choose it, as the simulator takes it, as TOML, and as part of an address. */

const STEPS = {
  rate: [0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1000],
  rtt: [1, 2, 5, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500],
  buffer: [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 12, 16],
  loss: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 3, 5],
  duration: [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300],
  cwnd: [1, 2, 3, 4, 6, 8, 10, 16, 20, 32, 40],
};
const RANGES = { rate: [0.01, 10000], rtt: [0.01, 5000], buffer: [0.001, 100], loss: [0, 50], duration: [1, 3600], cwnd: [1, 1000] };
const MOST_FLOWS = 6;
const USUAL = {
  rate: 10, rtt: 40, buffer: 1, loss: 0, queue: "fifo", duration: 20, seed: 1, cwnd: 10, recovery: "rack",
  pacing: false, ecn: false, offloads: false,
};

class Setup {
  constructor(values = {}) {
    Object.assign(this, USUAL, { flows: [{ algorithm: "cubic", start: 0 }, { algorithm: "reno", start: 0 }] }, values);
  }

  changed(values) {
    return new Setup({ ...structuredClone({ ...this }), ...values });
  }

  /** What the simulator takes: whole numbers of its own units. */
  get settings() {
    const hosts = {};
    if (this.cwnd !== USUAL.cwnd) hosts.initial_cwnd = this.cwnd;
    if (this.recovery === "rfc6675") hosts.recovery = "rfc6675";
    if (this.recovery === "newreno") hosts.sack = false;
    if (this.offloads) hosts.offloads = true;
    return {
      seed: this.seed,
      duration_ns: Math.round(this.duration * 1e9),
      rate_bit_per_s: Math.round(this.rate * 1e6),
      rtt_ns: Math.round(this.rtt * 1e6),
      buffer_bdp_thousandths: Math.round(this.buffer * 1000),
      loss_ppm: Math.round(this.loss * 1e4),
      queue: this.queue,
      hosts,
      pacing: this.pacing,
      ecn: this.ecn,
      flows: this.flows.map(({ algorithm, start }) => ({ algorithm, start_ns: Math.round(start * 1e9) })),
    };
  }

  /** The scenario for the command line. */
  get toml() {
    const hosts = [];
    if (this.cwnd !== USUAL.cwnd) hosts.push(`initial_cwnd = ${this.cwnd}`);
    if (this.recovery !== USUAL.recovery) hosts.push(`recovery = "${this.recovery}"`);
    for (const name of ["pacing", "ecn", "offloads"]) if (this[name]) hosts.push(`${name} = true`);
    const flows = this.flows.flatMap(({ algorithm, start }) => [
      "", "[[flows]]", `algorithm = "${algorithm}"`, ...(start ? [`start = "${start} s"`] : []),
    ]);
    return [
      `duration = "${this.duration} s"`,
      `seed = ${this.seed}`,
      "repetitions = 1",
      "",
      "[record]",
      'samples = "50 ms"',
      "events = true",
      "",
      "[path]",
      `rate = "${this.rate} Mbit/s"`,
      `rtt = "${this.rtt} ms"`,
      ...(this.loss ? [`loss = "${this.loss} %"`] : []),
      "",
      "[path.queue]",
      `kind = "${this.queue}"`,
      `limit = "${this.buffer} bdp"`,
      ...(hosts.length ? ["", "[hosts]", ...hosts] : []),
      ...flows,
      "",
    ].join("\n");
  }

  /** The values that differ from the usual ones, for an address. */
  get query() {
    const query = new URLSearchParams();
    for (const [name, usual] of Object.entries(USUAL)) if (this[name] !== usual) query.set(name, this[name]);
    query.set("flows", this.flows.map(({ algorithm, start }) => algorithm + (start ? `@${start}` : "")).join(","));
    return query.toString();
  }

  /** The set-up of a query, with usual values where the query has none or an impossible one. */
  static read(query, { algorithms, queues }) {
    const given = new URLSearchParams(query);
    const values = {};
    for (const [name, range] of Object.entries(RANGES)) {
      const value = Number(given.get(name));
      if (given.has(name) && value >= range[0] && value <= range[1]) values[name] = name === "cwnd" ? Math.round(value) : value;
    }
    if (/^\d{1,9}$/.test(given.get("seed") ?? "")) values.seed = Number(given.get("seed"));
    if (queues.includes(given.get("queue"))) values.queue = given.get("queue");
    if (["rfc6675", "newreno"].includes(given.get("recovery"))) values.recovery = given.get("recovery");
    for (const name of ["pacing", "ecn", "offloads"]) values[name] = given.get(name) === "true";
    const duration = values.duration ?? USUAL.duration;
    const flows = (given.get("flows") ?? "").split(",").flatMap((text) => {
      const [algorithm, start = "0"] = text.split("@");
      const isKnown = algorithms.includes(algorithm) && Number(start) >= 0 && Number(start) < duration;
      return isKnown ? [{ algorithm, start: Number(start) }] : [];
    });
    if (flows.length) values.flows = flows.slice(0, MOST_FLOWS);
    return new Setup(values);
  }
}

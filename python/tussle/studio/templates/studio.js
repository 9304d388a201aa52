/** The studio: set-ups with sliders, their simulations, and what comes out. */

const given = JSON.parse(document.getElementById("given").textContent);
const { algorithms, queues, colours, lessons, version } = given;
const known = { algorithms: Object.keys(algorithms), queues: Object.keys(queues) };
const FRAME_MS = 14;
const SLICE_NS = 20e6;
const SPEEDS = { fast: Infinity, "real time": 1, "1/10": 0.1, "1/100": 0.01 };

const SLIDERS = [
  { name: "rate", label: "Link rate", unit: "Mbit/s" },
  { name: "rtt", label: "Round-trip time", unit: "ms" },
  { name: "buffer", label: "Buffer", unit: "BDP" },
  { name: "loss", label: "Random loss", unit: "%" },
  { name: "duration", label: "Duration", unit: "s" },
  { name: "cwnd", label: "Initial window", unit: "packets", group: "hosts" },
];

function element(kind, attributes = {}, ...content) {
  const made = Object.assign(document.createElement(kind), attributes);
  made.append(...content);
  return made;
}

/** One set-up on the page: its controls, its simulation, its charts and its results. */
class Bench {
  constructor(place, name, studio) {
    Object.assign(this, { place, name, studio, simulation: null, setup: new Setup(), files: {} });
    this.controls = place.querySelector(".controls");
    this.charts = new Charts(place.querySelector(".charts"), colours);
    place.querySelector(".saves").addEventListener("click", (event) => this.save(event.target.dataset.save));
    place.querySelector(".copy").addEventListener("click", () => navigator.clipboard?.writeText(this.command));
  }

  get command() {
    return `tussle run studio-${this.name}.toml --engine kernel -o studio-${this.name}`;
  }

  /** Takes a set-up: shows its controls and begins anew. */
  take(setup) {
    this.setup = setup;
    this.showControls();
    this.restart();
  }

  change(values) {
    this.setup = this.setup.changed(values);
    this.studio.changed();
    this.restart();
  }

  restart() {
    if (this.simulation && !this.files.flows) this.simulation.close();
    this.simulation = null;
    this.files = {};
    const problem = this.place.querySelector(".problem");
    try {
      this.simulation = this.studio.simulator.open({ settings: this.setup.settings });
      problem.textContent = "";
      this.charts.reset(this.simulation.run);
    } catch (error) {
      problem.textContent = error.message;
    }
    this.showResult();
    this.place.querySelector(".command").textContent = this.command;
  }

  get isRunning() {
    return this.simulation !== null && !this.simulation.isDone;
  }

  advance(untilNs) {
    this.simulation.advance(untilNs);
  }

  draw() {
    if (!this.simulation) return;
    if (!this.files.flows) this.simulation.fetch();
    this.charts.draw(this.simulation);
    if (this.simulation.isDone && !this.files.flows) {
      this.files = this.simulation.close();
      this.showResult();
    }
  }

  showControls() {
    const slider = ({ name, label, unit }) => {
      const steps = [...new Set([...STEPS[name], this.setup[name]])].sort((a, b) => a - b);
      const shown = element("b", { textContent: `${this.setup[name]} ${unit}` });
      const input = element("input", { type: "range", name, min: 0, max: steps.length - 1, step: 1, value: steps.indexOf(this.setup[name]) });
      input.setAttribute("aria-valuetext", shown.textContent);
      input.addEventListener("input", () => {
        shown.textContent = `${steps[input.value]} ${unit}`;
        input.setAttribute("aria-valuetext", shown.textContent);
        const values = { [name]: steps[input.value] };
        if (name === "duration") {
          values.flows = this.setup.flows.map((flow) => ({ ...flow, start: Math.min(flow.start, steps[input.value] / 2) }));
        }
        this.change(values);
        if (name === "duration") this.showControls();
      });
      return element("label", { className: "slider" }, element("span", {}, label, " ", shown), input);
    };
    const choice = (name, label, options, chosen, choose) => {
      const select = element("select", { name });
      for (const [value, about] of options) select.append(element("option", { value, textContent: value, title: about, selected: value === chosen }));
      select.addEventListener("change", () => choose(select.value));
      return element("label", {}, element("span", { textContent: label }), select);
    };
    const box = (name, label) => {
      const input = element("input", { type: "checkbox", name, checked: this.setup[name] });
      input.addEventListener("change", () => this.change({ [name]: input.checked }));
      return element("label", { className: "box" }, input, label);
    };
    const flows = this.setup.flows.map((flow, index) => {
      const replace = (values) => {
        this.change({ flows: this.setup.flows.map((each, at) => (at === index ? { ...each, ...values } : each)) });
      };
      const start = element("input", { type: "number", name: `start-${index}`, min: 0, max: this.setup.duration - 1, step: 1, value: flow.start });
      start.addEventListener("change", () => {
        replace({ start: Math.min(Math.max(Number(start.value) || 0, 0), this.setup.duration - 1) });
        this.showControls();
      });
      const remove = element("button", { type: "button", className: "remove", textContent: "Remove", disabled: this.setup.flows.length === 1 });
      remove.setAttribute("aria-label", `Remove flow ${index + 1}`);
      remove.addEventListener("click", () => {
        this.change({ flows: this.setup.flows.filter((_, at) => at !== index) });
        this.showControls();
      });
      return element("div", { className: "flow" },
        choice(`algorithm-${index}`, `Flow ${index + 1}`, Object.entries(algorithms), flow.algorithm, (algorithm) => replace({ algorithm })),
        element("label", {}, element("span", { textContent: "starts at, s" }), start), remove);
    });
    const add = element("button", { type: "button", className: "add", textContent: "Add a flow", disabled: flows.length >= MOST_FLOWS });
    add.addEventListener("click", () => {
      this.change({ flows: [...this.setup.flows, { algorithm: "cubic", start: 0 }] });
      this.showControls();
    });
    const hosts = element("details", { className: "hosts", open: this.controls.querySelector(".hosts")?.open ?? false },
      element("summary", { textContent: "Hosts" }),
      ...SLIDERS.filter(({ group }) => group).map(slider),
      choice("recovery", "Loss recovery", [["rack", "RFC 8985"], ["rfc6675", "SACK, RFC 6675"], ["newreno", "without SACK, RFC 6582"]], this.setup.recovery,
        (recovery) => this.change({ recovery })),
      box("pacing", "Pacing"), box("ecn", "ECN"), box("offloads", "Segmentation offloads"));
    this.controls.replaceChildren(
      ...SLIDERS.filter(({ group }) => !group).map(slider),
      choice("queue", "Queue", Object.entries(queues), this.setup.queue, (queue) => this.change({ queue })),
      element("fieldset", {}, element("legend", { textContent: "Flows" }), ...flows, add), hosts);
  }

  showResult() {
    const table = this.place.querySelector(".result");
    const digest = this.place.querySelector(".digest");
    for (const button of this.place.querySelectorAll("[data-save$=csv]")) button.disabled = !this.files.flows;
    digest.textContent = "";
    table.hidden = !this.files.flows;
    if (!this.files.flows) return;
    const rows = parsed(this.files.flows);
    const total = rows.reduce((sum, row) => sum + Number(row.goodput_bit_per_s), 0);
    const number = (value, digits) => (value === "" ? "–" : Number(value).toLocaleString("en", { maximumSignificantDigits: digits }));
    table.tBodies[0].replaceChildren(...rows.map((row, index) => {
      const share = total ? `${Math.round((100 * row.goodput_bit_per_s) / total)} %` : "–";
      const retransmitted = (100 * row.retransmitted_packets) / (Number(row.sent_packets) || 1);
      const cells = [`${index + 1} ${row.algorithm}`, number(row.goodput_bit_per_s / 1e6, 3), share, `${number(retransmitted, 2)} %`, number(row.rtt_mean_ms, 3)];
      return element("tr", {}, ...cells.map((text, at) => element(at ? "td" : "th", { textContent: text })));
    }));
    const { from_ns: from, to_ns: to } = this.simulation.run.steady;
    table.caption.textContent = `Measured from ${number(from / 1e9, 3)} s to ${number(to / 1e9, 3)} s`;
    this.showDigest(digest);
  }

  async showDigest(place) {
    const { flows } = this.files;
    const hash = await crypto.subtle?.digest("SHA-256", new TextEncoder().encode(flows));
    if (!hash || this.files.flows !== flows) return;
    const digits = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
    place.textContent = `SHA-256 of flows.csv: ${digits}`;
  }

  save(what) {
    if (!what) return;
    const text = what === "toml" ? this.setup.toml : this.files[what.replace(/\.csv$/, "")];
    const link = element("a", { href: URL.createObjectURL(new Blob([text])), download: what === "toml" ? `studio-${this.name}.toml` : what });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

class Studio {
  constructor(simulator) {
    this.simulator = simulator;
    this.isPlaying = true;
    this.speed = "fast";
    this.benches = [...document.querySelectorAll(".bench")].map((place) => new Bench(place, place.dataset.name, this));
    this.both = document.getElementById("both");
    this.play = document.getElementById("play");
    const speed = document.getElementById("speed");
    for (const name of Object.keys(SPEEDS)) speed.append(element("option", { value: name, textContent: name }));
    speed.addEventListener("change", () => { this.speed = speed.value; });
    this.play.addEventListener("click", () => this.setPlaying(!this.isPlaying));
    document.getElementById("step").addEventListener("click", () => this.step());
    document.getElementById("again").addEventListener("click", () => this.again());
    this.both.addEventListener("change", () => {
      this.showSecond(this.both.checked, this.benches[0].setup.changed({}));
      this.changed();
    });
    addEventListener("resize", () => this.benches.forEach((bench) => bench.charts.resize()));
    addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.hash) this.read(); });
    document.getElementById("lessons").append(...lessons.map((lesson, index) => this.lesson(lesson, index)));
    this.read();
    requestAnimationFrame((at) => this.frame(at));
  }

  get shown() {
    return this.benches.slice(0, this.both.checked ? 2 : 1);
  }

  get hash() {
    return this.shown.map((bench) => bench.setup.query).join("&and&");
  }

  /** Takes the set-ups of the address. */
  read() {
    const [first, second] = location.hash.slice(1).split("&and&");
    this.benches[0].take(Setup.read(first, known));
    this.showSecond(second !== undefined, Setup.read(second ?? "", known));
    this.setPlaying(true);
  }

  showSecond(isShown, setup) {
    this.both.checked = isShown;
    this.benches[1].place.hidden = !isShown;
    document.querySelector(".benches").classList.toggle("two", isShown);
    if (isShown) this.benches[1].take(setup);
    this.benches[0].charts.resize();
  }

  /** A control was moved: the address follows, and the simulations begin anew, together. */
  changed() {
    history.replaceState(null, "", `#${this.hash}`);
    const old = this.shown.filter((bench) => bench.simulation && bench.simulation.nowNs > 0);
    old.forEach((bench) => bench.restart());
    this.setPlaying(true);
  }

  again() {
    this.shown.forEach((bench) => bench.restart());
    this.setPlaying(true);
  }

  setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.last = undefined;
    this.play.textContent = isPlaying ? "Pause" : "Go on";
  }

  step() {
    this.setPlaying(false);
    const [first] = this.shown;
    const stepNs = Math.max(first.setup.rtt * 1e6, 50e6);
    this.advance(this.nowNs + stepNs, Infinity);
    this.draw();
  }

  get nowNs() {
    return Math.max(0, ...this.shown.map((bench) => bench.simulation?.nowNs ?? 0));
  }

  /** Simulates up to a time, or as far as the frame's time by the wall clock allows. */
  advance(untilNs, deadline) {
    let nowNs = this.nowNs;
    do {
      nowNs = Math.min(nowNs + SLICE_NS, untilNs);
      for (const bench of this.shown) {
        if (!bench.isRunning) continue;
        try {
          bench.advance(nowNs);
        } catch (error) {
          bench.place.querySelector(".problem").textContent = error.message;
          bench.simulation = null;
        }
      }
    } while (nowNs < untilNs && performance.now() < deadline && this.shown.some((bench) => bench.isRunning));
  }

  frame(at) {
    if (this.isPlaying && this.shown.some((bench) => bench.isRunning)) {
      const passedNs = this.last === undefined ? 0 : (at - this.last) * 1e6;
      this.last = at;
      this.advance(this.nowNs + passedNs * SPEEDS[this.speed] || this.nowNs + 1, performance.now() + FRAME_MS);
      this.draw();
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  draw() {
    this.shown.forEach((bench) => bench.draw());
    const isOver = !this.shown.some((bench) => bench.isRunning);
    document.getElementById("clock").textContent = `${(this.nowNs / 1e9).toFixed(2)} s`;
    document.body.dataset.state = isOver ? "done" : "going";
  }

  lesson({ title, steps }, index) {
    const list = steps.map(({ text, query, button, answer }) => {
      const item = element("li", {}, element("p", { textContent: text }));
      if (query) {
        const show = element("button", { type: "button", textContent: button });
        show.addEventListener("click", () => {
          location.hash = query;
          this.read();
        });
        item.append(show);
      }
      if (answer) item.append(element("details", {}, element("summary", { textContent: "What is to be seen" }), element("p", { textContent: answer })));
      return item;
    });
    return element("details", { className: "lesson", name: "lesson" }, element("summary", { textContent: `${index + 1}. ${title}` }), element("ol", {}, ...list));
  }
}

document.getElementById("version").textContent = version;
Simulator.load(document.getElementById("simulator").textContent).then((simulator) => {
  window.studio = new Studio(simulator);
});

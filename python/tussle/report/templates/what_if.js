const panel = document.getElementById("what-if");

/** Changes of a run, by what changes: the choices, and how one of them is applied. */
const CHANGES = {
  rate: { words: "the link rate were", choices: ["¼ of it", "half", "twice", "4 times"], apply: (run, { factor }) => {
    for (const link of bottleneck(run)) if (link.rate_bit_per_s) link.rate_bit_per_s = Math.max(1, Math.round(link.rate_bit_per_s * factor));
  } },
  rtt: { words: "the propagation delay of the bottleneck were", choices: ["¼ of it", "half", "twice", "4 times"], apply: (run, { factor }) => {
    for (const link of bottleneck(run)) if (link.delay_ns) link.delay_ns = Math.round(link.delay_ns * factor);
  } },
  buffer: { words: "the buffer were", choices: ["¼ of it", "half", "twice", "4 times"], apply: (run, { factor }) => {
    const [{ queue }] = bottleneck(run);
    for (const key of ["limit_packets", "limit_bytes"]) if (queue[key]) queue[key] = Math.max(1, Math.round(queue[key] * factor));
  } },
  loss: { words: "packets were lost at random:", choices: ["0.01 %", "0.1 %", "1 %", "3 %"], apply: (run, { choice }) => {
    run.elements.push({ name: "what-if", kind: "loss", probability: parseFloat(choice) / 100 });
    for (const flow of run.flows) flow.forward.unshift("what-if");
  } },
};
const FACTORS = { "¼ of it": 0.25, half: 0.5, twice: 2, "4 times": 4 };

/** The queued link of the first flow's way that is slowest, and the link back of the same name. */
function bottleneck(run) {
  const links = run.flows[0].forward.map((name) => run.elements.find((each) => each.name === name)).filter((each) => each.queue);
  links.sort((one, other) => (one.rate_bit_per_s ?? 0) - (other.rate_bit_per_s ?? 0));
  const back = run.elements.find((each) => each.name === `${links[0]?.name}-reverse`);
  return [links[0], back].filter(Boolean);
}

function changesOf(run) {
  const [link] = bottleneck(run);
  const able = { rate: link?.rate_bit_per_s, rtt: link?.delay_ns, buffer: link?.queue?.limit_packets || link?.queue?.limit_bytes, loss: true };
  const changes = Object.entries(CHANGES).filter(([name]) => able[name]);
  const { algorithms } = JSON.parse(document.getElementById("what-if-known").textContent);
  const flows = run.flows.slice(0, 6).flatMap((flow, index) => flow.algorithm === "udp" ? [] : [[`flow-${index}`, {
    words: `flow ${index + 1} (${flow.algorithm}) were`, choices: algorithms.filter((name) => name !== flow.algorithm),
    apply: (changed, { choice }) => Object.assign(changed.flows[index], { algorithm: choice, parameters: {} }),
  }]]);
  return Object.fromEntries([...changes, ...flows]);
}

let simulatorOfPage;
let runsOfPage;

/** Puts the panel into the shown detail, if the page has the run of its point. */
async function offer(detail) {
  if (!panel) return;
  runsOfPage ??= JSON.parse(await unpack("what-if-runs"));
  const run = runsOfPage[detail.dataset.point];
  panel.hidden = !run;
  detail.insertBefore(panel, detail.querySelector(".hint"));
  panel.querySelector(".what-if-result").replaceChildren();
  if (!run) return;
  const [what, value] = panel.querySelectorAll("select");
  const changes = changesOf(run);
  const fill = (select, options) => select.replaceChildren(...options.map(([name, words]) => new Option(words, name)));
  fill(what, Object.entries(changes).map(([name, { words }]) => [name, words]));
  const values = () => fill(value, changes[what.value].choices.map((choice) => [choice, choice]));
  what.onchange = values;
  values();
  panel.querySelector("button").onclick = () => simulateBoth(run, changes[what.value], value.value);
}

async function simulateBoth(run, change, choice) {
  const place = panel.querySelector(".what-if-result");
  place.textContent = "Simulating …";
  await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
  try {
    simulatorOfPage ??= await Simulator.load(document.getElementById("what-if-simulator").textContent);
    const changed = structuredClone(run);
    change.apply(changed, { choice, factor: FACTORS[choice] });
    const before = await simulated(run);
    const after = await simulated(changed);
    place.replaceChildren(comparison(before, after), ...(await digests(before, after)));
  } catch (error) {
    place.textContent = `This cannot be simulated: ${error.message}`;
  }
}

/** Simulates a run in slices, so that the page stays alive; returns its tables. */
async function simulated(run) {
  const simulation = simulatorOfPage.open({ run });
  for (let until = 0; !simulation.isDone; until += 1e9) {
    simulation.advance(until);
    await new Promise((resolve) => setTimeout(resolve));
  }
  return simulation.close();
}

function comparison(before, after) {
  const [old, now] = [before, after].map(({ flows }) => parsed(flows));
  const number = (text, scale = 1) => (text === "" ? "–" : String(Number((Number(text) * scale).toPrecision(3))));
  const table = document.createElement("table");
  table.className = "numbers";
  const row = (cells, kind = "td") => {
    const line = document.createElement("tr");
    for (const text of cells) line.append(Object.assign(document.createElement(kind), { textContent: text }));
    return line;
  };
  const head = document.createElement("thead");
  head.append(row(["flow", "goodput, Mbit/s", "mean RTT, ms", "retransmitted packets"], "th"));
  const body = document.createElement("tbody");
  old.forEach((flow, index) => {
    const next = now[index];
    const both = (name, scale) => `${number(flow[name], scale)} → ${number(next[name], scale)}`;
    const name = flow.algorithm === next.algorithm ? flow.algorithm : `${flow.algorithm} → ${next.algorithm}`;
    body.append(row([`${index + 1} ${name}`, both("goodput_bit_per_s", 1e-6), both("rtt_mean_ms"), both("retransmitted_packets")]));
  });
  table.append(head, body);
  const scroll = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0 });
  scroll.append(table);
  return scroll;
}

async function digests(before, after) {
  if (!crypto.subtle) return [];
  const lines = [];
  for (const [words, { flows }] of [["as it was", before], ["changed", after]]) {
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(flows)));
    const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    lines.push(Object.assign(document.createElement("p"), { className: "note digest", textContent: `flows.csv, ${words}: ${digits}` }));
  }
  return lines;
}

/** The charts of a set-up, drawn while it runs. */

/** Time over which a goodput is averaged. */
const WINDOW_S = 0.5;
const SAMPLING_S = 0.05;

const CHARTS = [
  { name: "cwnd", title: "Congestion window", unit: "packets" },
  { name: "goodput", title: "Goodput", unit: "Mbit/s", note: `mean over ${WINDOW_S} s` },
  { name: "queue", title: "Queue at the bottleneck", unit: "packets", note: "circles: dropped within 50 ms" },
  { name: "rtt", title: "Round-trip time", unit: "ms" },
];

/** The columns of all charts: times, then one array for each flow, or the queue and its drops. */
function seriesOf(simulation) {
  const { samples, links, run } = simulation;
  const flows = run.flows.length;
  const count = Math.floor((samples.time_s?.length ?? 0) / flows);
  const times = Array.from({ length: count }, (_, row) => samples.time_s[row * flows]);
  const column = (name, flow) => Array.from({ length: count }, (_, row) => samples[name][row * flows + flow]);
  const started = (flow, row) => times[row] >= run.flows[flow].start_ns / 1e9;
  const each = (of) => run.flows.map((_, flow) => of(flow));
  const back = Math.round(WINDOW_S / SAMPLING_S);
  const goodput = each((flow) => {
    const bytes = column("delivered_bytes", flow);
    return bytes.map((value, row) =>
      row < back || !started(flow, row - back) ? null : ((value - bytes[row - back]) * 8e-6) / (times[row] - times[row - back]));
  });
  const bottleneck = (links.link ?? []).flatMap((name, row) => (name === "bottleneck" ? [row] : []));
  const drops = bottleneck.map((row, at) => links.dropped_packets[row] - (at ? links.dropped_packets[bottleneck[at - 1]] : 0));
  return {
    cwnd: [times, ...each((flow) => column("cwnd_packets", flow).map((value, row) => (started(flow, row) ? value : null)))],
    goodput: [times, ...goodput],
    queue: [
      bottleneck.map((row) => links.time_s[row]),
      bottleneck.map((row) => links.max_backlog_packets[row]),
      drops.map((value) => value || null),
    ],
    rtt: [times, ...each((flow) => column("rtt_ms", flow))],
  };
}

/** Draws the charts of one set-up into a place. */
class Charts {
  constructor(place, colours) {
    Object.assign(this, { place, colours, plots: {} });
  }

  /** Makes new charts for the flows of a run. */
  reset(run) {
    for (const plot of Object.values(this.plots)) plot.destroy();
    this.place.replaceChildren();
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim();
    const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
    const names = run.flows.map((flow, index) => `${index + 1} ${flow.algorithm}`);
    const strokes = colouredLines(run.flows.map((flow) => this.colours[flow.algorithm]));
    for (const chart of CHARTS) {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = `${chart.title}, ${chart.unit}${chart.note ? ` (${chart.note})` : ""}`;
      figure.append(caption);
      this.place.append(figure);
      const lines = chart.name === "queue"
        ? [{ label: "largest", stroke: ink, width: 1.5 },
           { label: "dropped", stroke: style.getPropertyValue("--alarm").trim(), paths: () => null,
             points: { show: true, size: 5, width: 1.5 } }]
        : names.map((label, flow) => ({ label, width: 1.8, spanGaps: false, points: { show: false }, ...strokes[flow] }));
      this.plots[chart.name] = new uPlot({
        width: figure.clientWidth, height: 150,
        cursor: { y: false, sync: { key: "studio" } },
        legend: { live: true },
        scales: { x: { time: false, range: [0, run.duration_ns / 1e9] }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
        axes: [{ stroke: ink, grid, ticks: grid, font: "11px sans-serif", size: 26 },
               { stroke: ink, grid, ticks: grid, font: "11px sans-serif", size: 46 }],
        series: [{ label: "s" }, ...lines],
      }, [[], ...lines.map(() => [])], figure);
    }
  }

  draw(simulation) {
    for (const [name, data] of Object.entries(seriesOf(simulation))) this.plots[name].setData(data);
  }

  resize() {
    for (const plot of Object.values(this.plots)) {
      plot.setSize({ width: plot.root.parentElement.clientWidth, height: 150 });
    }
  }
}

/** Lines of one colour differ by their dashes. */
function colouredLines(colours) {
  const seen = {};
  return colours.map((stroke) => {
    seen[stroke] = (seen[stroke] ?? 0) + 1;
    return { stroke, dash: [[], [6, 4], [2, 3], [10, 3, 2, 3], [4, 8], [1, 6]][seen[stroke] - 1] };
  });
}

const TIME = "time_s";
const MOST_LINES = 13;
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

function panelsOf(chart) {
  return chart.vconcat || [chart];
}

function isOverTime(layer) {
  return layer.encoding?.x?.field === TIME;
}

/** Lets the mouse move and zoom the time axis of a chart, in all panels at once. On touch screens the page scrolls. */
function zoomable(chart) {
  const layers = panelsOf(chart).map((panel) => panel.layer?.find(isOverTime)).filter(Boolean);
  if (!layers.length || !matchMedia("(pointer: fine)").matches) return chart;
  layers.forEach((layer, place) => (layer.name = `over_time_${place}`));
  // Vega-Lite clips all marks over a moving scale at the edges of the plot, but labels of guide lines are outside.
  for (const { mark } of panelsOf(chart).flatMap((panel) => panel.layer)) mark.clip = mark.type !== "text";
  const select = { type: "interval", encodings: ["x"], zoom: "wheel![event.ctrlKey]" };
  return { ...chart, params: [{ name: "shown_time", select, bind: "scales", views: layers.map(({ name }) => name) }] };
}

function cellsOf(line) {
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);
}

const UNITS = { _mbit_per_s: "Mbit/s", _packets: "packets", _ms: "ms" };

/** Splits the name of a column into words and a unit. */
function wordsOf(column) {
  const end = Object.keys(UNITS).find((each) => column.endsWith(each)) || "";
  const words = column.slice(0, column.length - end.length).replaceAll("_", " ");
  return [words.replace("rtt", "RTT").replace("jain", "Jain"), UNITS[end] || ""];
}

/** The series of a panel by name, each with its unit and its pairs of a time and a value. */
function seriesOf(panel, datasets) {
  const found = new Map();
  for (const { encoding, data } of (panel.layer || []).filter(isOverTime)) {
    const { field } = encoding.y;
    const [words, unit] = wordsOf(field);
    const [head, ...rows] = datasets[data.name].trimEnd().split("\n").map(cellsOf);
    const [time, value, series] = [TIME, field, "series"].map((column) => head.indexOf(column));
    for (const row of rows.filter((each) => each[value] !== "")) {
      const name = [row[series], words].filter(Boolean).join(", ");
      if (!found.has(name)) found.set(name, { unit, pairs: [] });
      found.get(name).pairs.push([Number(row[time]), Number(row[value])]);
    }
  }
  return found;
}

/** Shows the values of all series at the time under the mouse: those recorded nearest to it. */
function readable(place, view, chart) {
  const panels = panelsOf(chart).map((panel) => seriesOf(panel, chart.datasets || {}));
  const several = panels.length > 1;
  place.onpointerleave = () => (tip.hidden = true);
  place.onpointermove = (event) => {
    const areas = [...place.querySelectorAll(`.role-${several ? "scope" : "frame"} > g > .background`)];
    const at = areas.findIndex((area) => isInside(area.getBoundingClientRect(), event));
    tip.hidden = at < 0 || !panels[at]?.size;
    if (tip.hidden) return;
    const { left, width } = areas[at].getBoundingClientRect();
    const [start, end] = view.scale(several ? `concat_${at}_x` : "x").domain().map(Number);
    const time = start + ((event.clientX - left) / width) * (end - start);
    const lines = [`${Number(time.toPrecision(4))} s`];
    for (const [name, { unit, pairs }] of panels[at]) {
      const distance = ([each]) => Math.abs(each - time);
      const nearest = pairs.reduce((one, other) => (distance(other) < distance(one) ? other : one));
      if (distance(nearest) < (end - start) / 20) lines.push(`${name}: ${nearest[1]} ${unit}`);
    }
    const hidden = lines.splice(MOST_LINES).length;
    tip.textContent = [...lines, ...(hidden ? [`and ${hidden} more`] : [])].join("\n");
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  };
}

function isInside({ left, right, top, bottom }, { clientX, clientY }) {
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
}

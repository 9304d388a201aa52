const settings = JSON.parse(document.getElementById("settings").textContent);

async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** The configuration of all charts. On a dark page text has another colour; algorithms keep theirs. */
function look(width) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const soft = style.getPropertyValue("--soft").trim();
  const config = structuredClone(settings.config);
  Object.assign(config.axis, { labelColor: soft, titleColor: soft });
  Object.assign(config.legend, { labelColor: ink, titleColor: soft });
  config.title = { ...config.title, color: ink, subtitleColor: soft };
  config.header = { ...config.header, labelColor: ink, titleColor: soft };
  config.text = { color: ink };
  if (width < NARROW_PX) config.legend.columns = 3;
  return { ...config, background: "transparent" };
}

const NARROW_PX = 560;
const BESIDE = '"orient":"right"';

/** Replaces white and black in a chart by the page's background and text colours. */
function onPage(written) {
  const style = getComputedStyle(document.documentElement);
  const colours = { white: "--paper", black: "--ink" };
  return written.replace(/"(fill|color|value|symbolFillColor)":"(white|black)"/g, (_, property, name) =>
    `"${property}":"${style.getPropertyValue(colours[name]).trim()}"`);
}

/** Fits a chart to the width of its element; if that is narrow, legends go below, and labels of guide lines inside. */
function fit(given, width) {
  const narrow = width < NARROW_PX;
  const written = onPage(JSON.stringify(given));
  const chart = JSON.parse(narrow ? written.replaceAll(BESIDE, '"orient":"bottom"') : written);
  if (chart.concat || chart.hconcat) return chart;
  const room = Math.max(120, width - (narrow ? 66 : written.includes(BESIDE) ? 166 : 145));
  for (const part of chart.vconcat || [chart]) {
    const square = part.width === part.height;
    part.width = square || part.width < 480 ? Math.min(part.width, room) : room;
    if (square) part.height = part.width;
    for (const { mark } of part.layer || []) {
      const names = mark.type === "text" && mark.dx > 0;
      if (narrow && names) Object.assign(mark, { align: "right", dx: -2, dy: mark.dy * 1.4 });
    }
  }
  return chart;
}

/** Draws the charts of a detail, or of a figure of all points. */
async function draw(owner) {
  owner.dataset.drawn = "yes";
  if (!document.getElementById(owner.dataset.charts)) return;
  const charts = JSON.parse(await unpack(owner.dataset.charts));
  const actions = { export: true, source: false, compiled: false, editor: false };
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const common = { renderer: "svg", actions, tooltip: { theme: isDark ? "dark" : "light" } };
  for (const place of owner.querySelectorAll(".chart")) {
    const figure = place.closest("figure");
    const given = charts[place.dataset.name];
    figure.hidden = !given;
    if (!given) continue;
    const options = { ...common, config: look(place.clientWidth), downloadFileName: place.dataset.name };
    const chart = zoomable(fit(given, place.clientWidth));
    let drawn = await vegaEmbed(place, chart, options);
    while (place.scrollWidth > place.clientWidth && options.config.legend.columns > 1) {
      options.config.legend.columns -= 1;
      drawn.finalize();
      drawn = await vegaEmbed(place, chart, options);
    }
    onScreen.set(place, widthsOf(drawn));
    place.classList.toggle("on-dark", isDark);
    readable(place, drawn.view, chart);
    const { caution } = given.usermeta || {};
    if (caution) figure.querySelector(".caution").textContent = `${caution[0].toUpperCase()}${caution.slice(1)}.`;
  }
}

const PAPER_PX = 520;
const onScreen = new Map();

/** The view of a chart, and the signals of its widths: one, or one for each panel. */
function widthsOf({ view, vgSpec }) {
  const signals = [{ name: "width", value: vgSpec.width }, ...(vgSpec.signals || [])];
  return { view, widths: signals.filter(({ name, value }) => /width$/i.test(name) && value > 0) };
}

/** Limits the width of charts, so that their letters are not too small on paper. */
function narrow(mostPx) {
  for (const { view, widths } of onScreen.values()) {
    for (const { name, value } of widths) view.signal(name, Math.min(value, mostPx));
    view.run();
  }
}

addEventListener("beforeprint", () => narrow(PAPER_PX));
addEventListener("afterprint", () => narrow(Infinity));

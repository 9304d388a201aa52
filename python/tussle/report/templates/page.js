"use strict";
(() => {
  const settings = JSON.parse(document.getElementById("settings").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const details = [...document.querySelectorAll(".detail")];

  /** The look of all charts; on a dark page only what is written changes, colours of algorithms stay. */
  function look() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const soft = style.getPropertyValue("--soft").trim();
    const config = structuredClone(settings.config);
    Object.assign(config.axis, { labelColor: soft, titleColor: soft });
    Object.assign(config.legend, { labelColor: ink });
    return { ...config, background: "transparent" };
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  /** Makes a chart as wide as its place; on a narrow one the names of guide lines move inside. */
  function fit(chart, width) {
    const narrow = width < 560;
    const beside = narrow ? 66 : 145;
    for (const part of chart.vconcat || [chart]) {
      part.width = Math.max(120, width - beside);
      for (const layer of part.layer || []) {
        for (const mark of layer.layer || []) {
          if (narrow && mark.mark.type === "text") Object.assign(mark.mark, { align: "right", dx: -2, dy: mark.mark.dy * 1.4 });
        }
      }
    }
    return chart;
  }

  async function draw(detail) {
    const packed = document.getElementById(`charts-${detail.dataset.point}`);
    if (!packed) return;
    const charts = await unpack(packed.textContent);
    const actions = { export: true, source: false, compiled: false, editor: false };
    for (const place of detail.querySelectorAll(".chart")) {
      const chart = fit(charts[Number(place.dataset.place)], place.clientWidth);
      await vegaEmbed(place, chart, { renderer: "svg", config: look(), actions });
    }
    detail.dataset.drawn = "yes";
  }

  function show() {
    const wanted = decodeURIComponent(location.hash.slice(1)) || settings.shown;
    const chosen = details.find((detail) => detail.id === wanted) || details.find((detail) => detail.id === settings.shown);
    for (const detail of details) detail.classList.toggle("shown", detail === chosen);
    for (const link of document.querySelectorAll(".matrix a, .numbers a")) {
      if (link.hash === `#${chosen.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    document.getElementById("heard").textContent = `Shown: ${chosen.querySelector("h2").textContent}`;
    if (!chosen.dataset.drawn) draw(chosen);
  }

  function redraw() {
    for (const detail of details) delete detail.dataset.drawn;
    show();
  }

  /** Arrow keys move in the matrix as they do in a spreadsheet. */
  function move(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    const row = event.currentTarget.rows[cell.parentElement.rowIndex + step[0]];
    const next = row && row.cells[cell.cellIndex + step[1]]?.querySelector("a");
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  function sort(event) {
    const button = event.target.closest("th button");
    if (!button) return;
    const heading = button.parentElement;
    const place = heading.cellIndex;
    const up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = heading.closest("table").tBodies[0];
    const order = (row) => row.cells[place].dataset.order;
    const compare = (one, other) => {
      const difference = Number(order(one)) - Number(order(other));
      return Number.isNaN(difference) ? order(one).localeCompare(order(other), undefined, { numeric: true }) : difference;
    };
    const rows = [...body.rows].sort((one, other) => (up ? 1 : -1) * compare(one, other));
    body.append(...rows);
  }

  document.documentElement.classList.add("scripted");
  for (const matrix of document.querySelectorAll(".matrix")) matrix.addEventListener("keydown", move);
  document.addEventListener("click", sort);
  addEventListener("hashchange", show);
  dark.addEventListener("change", redraw);
  let width = innerWidth;
  let waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 200);
  });
  show();
})();

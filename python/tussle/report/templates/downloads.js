/** Saves a text as a file, without any network. */
function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function quoted(value) {
  const text = String(value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(rows) {
  return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

/** A table with all digits, and two more columns for each that has quartiles. */
function csvOfTable(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = [...table.tHead.rows[0].cells].map((head, place) => ({
    place,
    name: head.innerText.trim().replace(/\s+/g, " ").replace(/ [↑↓]$/, ""),
    spread: rows.some((row) => row.cells[place].dataset.low),
  }));
  const known = (value) => (value === "-inf" ? "" : value);
  const header = columns.flatMap(({ name, spread }) => (spread ? [name, `${name} q1`, `${name} q3`] : [name]));
  const body = rows.map((row) =>
    columns.flatMap(({ place, spread }) => {
      const { order, low, high } = row.cells[place].dataset;
      return spread ? [known(order), low, high] : [known(order)];
    }),
  );
  return csv([header, ...body]);
}

/** The visible pairs of a matrix, with the selected quantity. */
function csvOfMatrix(table) {
  const { words, unit, cells, of_both: both } = shownQuantity();
  const numbers = both ? [`${words} (${unit}), first / second`] : [];
  const heads = [...table.tHead.rows[1].cells].map((head) => head.dataset.name);
  const body = [...table.tBodies[0].rows].flatMap((row) =>
    [...row.cells].flatMap((cell, place) => {
      const link = cell.querySelector("a");
      if (!link || cell.hidden || row.hidden) return [];
      const [text, , , value] = cells[link.dataset.point] || ["", "", "", ""];
      return [[row.dataset.name, heads[place], link.dataset.verdict, value, ...(both ? [text] : [])]];
    }),
  );
  return csv([["first", "second", "verdict", "value", ...numbers], ...body]);
}

/** The series of a chart without its guide lines, one below the other. */
async function csvOfChart(figure) {
  const owner = figure.closest("[data-charts]");
  const charts = JSON.parse(await unpack(owner.dataset.charts));
  const { datasets } = charts[figure.querySelector(".chart").dataset.name];
  const series = Object.values(datasets).filter((text) => !/^(level|steady_from_s|guide)/.test(text));
  return series.join("\n");
}

async function download(event) {
  const button = event.target.closest("button.save");
  if (!button) return;
  const { save: kind } = button.dataset;
  if (kind === "file") return save(button.dataset.file, await unpack(button.dataset.content));
  if (kind === "chart") {
    const figure = button.closest("figure");
    const owner = figure.closest(".detail");
    const name = figure.querySelector(".chart").dataset.name;
    return save(`${owner ? `${owner.id}-` : ""}${name}.csv`, await csvOfChart(figure));
  }
  const table = button.parentElement.previousElementSibling.querySelector("table");
  save(table.dataset.file, kind === "matrix" ? csvOfMatrix(table) : csvOfTable(table));
}

document.addEventListener("click", download);

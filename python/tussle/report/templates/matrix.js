const tools = document.getElementById("tools");
const matrixTables = [...document.querySelectorAll(".matrix")];
const asRun = matrixTables.map((table) => [...table.tBodies[0].rows].map((row) => row.dataset.name));

/** The selected quantity of the matrices: words, unit, ramp, and the cells by point. */
function shownQuantity() {
  return settings.quantities[Number(document.getElementById("quantity").value)];
}

function showQuantity() {
  const quantity = shownQuantity();
  const unit = quantity.unit ? ` in ${quantity.unit}` : "";
  const first = quantity === settings.quantities[0];
  const both = quantity.of_both ? `, ${settings.sides}` : "";
  document.getElementById("meaning").textContent = first
    ? `Goodput ${settings.sides} in Mbit/s`
    : `${quantity.words[0].toUpperCase()}${quantity.words.slice(1)}${unit}${both}`;
  for (const cell of document.querySelectorAll(".matrix a")) {
    const [numbers, fill, ink] = quantity.cells[cell.dataset.point] || ["none", "", ""];
    cell.dataset.label ||= cell.getAttribute("aria-label");
    cell.textContent = numbers;
    cell.style.background = fill;
    cell.style.color = ink || "inherit";
    const [pair, verdict] = cell.dataset.label.split(": ");
    const names = pair.replace(/ (first|second) [^,]*/g, " $1");
    const label = first ? cell.dataset.label : `${names}: ${quantity.words} ${numbers} ${quantity.unit}; ${verdict}`;
    cell.setAttribute("aria-label", label);
  }
  const legend = document.getElementById("legend");
  legend.querySelector(".ramp").style.background = `linear-gradient(to right, ${quantity.ramp.join(", ")})`;
  legend.querySelectorAll(".ends span").forEach((end, place) => (end.textContent = quantity.ends[place]));
}

/** The names of a matrix in the selected order; by value, names with the largest mean as first flow come first. */
function ordered(table, names) {
  const order = document.getElementById("order").value;
  if (order === "run") return names;
  if (order === "name") return [...names].sort();
  const { cells } = shownQuantity();
  const mean = (name) => {
    const row = [...table.tBodies[0].rows].find((each) => each.dataset.name === name);
    const values = row ? [...row.querySelectorAll("a")].map((cell) => cells[cell.dataset.point]?.[3]) : [];
    const known = values.filter((value) => value !== undefined && value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -Infinity;
  };
  const means = new Map(names.map((name) => [name, mean(name)]));
  return [...names].sort((one, other) => means.get(other) - means.get(one));
}

/** Sorts the rows and columns of a matrix, and hides those that the filter excludes. */
function arrange(table, names) {
  const words = document.getElementById("only").value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  const wanted = (name) => !words.length || words.some((word) => name.toLowerCase().includes(word));
  const order = ordered(table, names);
  const rank = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((one, other) => rank(one.dataset.name) - rank(other.dataset.name)));
  const heads = table.tHead.rows[1];
  const columns = [...heads.cells].slice(1).map((head, place) => ({ name: head.dataset.name, place: place + 1 }));
  columns.sort((one, other) => rank(one.name) - rank(other.name));
  for (const row of [heads, ...body.rows]) {
    const cells = columns.map(({ name, place }) => [row.cells[place], name]);
    for (const [cell, name] of cells) cell.hidden = !wanted(name);
    row.append(...cells.map(([cell]) => cell));
    if (row !== heads) row.hidden = !wanted(row.dataset.name);
  }
}

function rearrange() {
  const verdict = document.getElementById("verdict").value;
  matrixTables.forEach((table, place) => arrange(table, asRun[place]));
  for (const cell of document.querySelectorAll(".matrix a")) {
    cell.classList.toggle("faint", Boolean(verdict) && cell.dataset.verdict !== verdict);
  }
  const left = document.querySelectorAll(".matrix tr:not([hidden]) td:not([hidden]) a:not(.faint)").length;
  document.getElementById("heard").textContent = `${left} pairs shown`;
}

/** Moves the focus in the matrix with the arrow keys, as in a spreadsheet. */
function move(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  const seen = (each) => !each.hidden;
  const rows = [...event.currentTarget.tBodies[0].rows].filter(seen);
  const row = rows[rows.indexOf(cell.parentElement) + step[0]];
  const place = [...cell.parentElement.cells].filter(seen).indexOf(cell) + step[1];
  const next = row && [...row.cells].filter(seen)[place]?.querySelector("a");
  if (!next) return;
  event.preventDefault();
  next.focus();
}

for (const table of matrixTables) table.addEventListener("keydown", move);
if (tools) {
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("input", () => {
    showQuantity();
    rearrange();
  });
  if (tools.querySelector("#quantity").value !== "0" || document.getElementById("only").value) tools.reset();
}

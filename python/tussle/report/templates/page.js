const details = [...document.querySelectorAll(".detail")];
const overviews = [...document.querySelectorAll(".overview")];

/** Shows the point that the fragment of the URL names. */
async function show() {
  const wanted = decodeURIComponent(location.hash.slice(1)) || settings.shown;
  const chosen = details.find((detail) => detail.id === wanted) || details.find((detail) => detail.id === settings.shown);
  for (const detail of details) detail.classList.toggle("shown", detail === chosen);
  for (const link of document.querySelectorAll(".matrix a, .numbers a")) {
    if (link.hash === `#${chosen.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  document.getElementById("heard").textContent = `Shown: ${chosen.querySelector("h2").textContent}`;
  await offer(chosen);
  if (!chosen.dataset.drawn) await draw(chosen);
}

/** Draws the figures of all points, one at a time while the page is idle. */
async function drawOverviews() {
  for (const overview of overviews) {
    await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 1000 }));
    if (!overview.dataset.drawn) await draw(overview);
  }
}

async function redraw() {
  for (const each of [...details, ...overviews]) delete each.dataset.drawn;
  await show();
  await drawOverviews();
}

/** Sorts a table by the heading that was clicked. */
function sort(event) {
  const button = event.target.closest("th button");
  if (!button) return;
  const heading = button.parentElement;
  const place = heading.cellIndex;
  const up = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = heading.closest("table").tBodies[0];
  const order = (row) => row.cells[place].dataset.order.replace("inf", "Infinity");
  const compare = (one, other) => {
    if (order(one) === order(other)) return 0;
    const difference = Number(order(one)) - Number(order(other));
    return Number.isNaN(difference) ? order(one).localeCompare(order(other), undefined, { numeric: true }) : difference;
  };
  body.append(...[...body.rows].sort((one, other) => (up ? 1 : -1) * compare(one, other)));
}

/** Shows all rows of a table, or a scrollable part of it. */
function unroll(event) {
  const button = event.target.closest("button.more");
  if (!button) return;
  const whole = button.parentElement.previousElementSibling.classList.toggle("whole");
  button.setAttribute("aria-expanded", whole);
}

/** Keeps the matrix in view while the details beside it are scrolled, unless they are below it. */
function follow() {
  const matrix = desk.querySelector(".matrices");
  desk.classList.toggle("beside", matrix.offsetLeft < desk.querySelector(".details").offsetLeft);
}

const desk = document.querySelector(".desk:has(.matrices)");
if (desk) new ResizeObserver(follow).observe(desk);

let width = innerWidth;
let waiting;
function resized() {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 200);
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", sort);
document.addEventListener("click", unroll);
addEventListener("hashchange", show);
addEventListener("resize", resized);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
redraw();

// Draw the figures in the reader's colours, and filter the matrix.
// The address's fragment stores the state of the filter, so that a link shows the same view (also from file://).
"use strict";

// The data of figures and tables is compressed JSON in base64 (reports/pages/payload.py), so that pages stay small.
async function unpacked(id) {
  const data = Uint8Array.from(atob(document.getElementById(id).textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function sums(differences) {
  let sum = 0;
  return differences.map((number) => (sum += number));
}

// Numbers are differences, texts are patterns with numbers.
function long(values) {
  if (Array.isArray(values)) return values;
  if (values.differences) return sums(values.differences).map((number) => number / 1000);
  const columns = values.numbers.map((each) => each.map(sums));
  const used = columns.map(() => 0);
  return values.which.map((place) => {
    const row = used[place]++;
    const parts = values.patterns[place].split("\0");
    return parts[0] + columns[place].map((column, hole) => column[row] + parts[hole + 1]).join("");
  });
}

async function figureOf(id) {
  const figure = await unpacked(id);
  for (const trace of figure.data) {
    for (const key of ["x", "y", "text"]) {
      if (trace[key]) trace[key] = long(trace[key]);
    }
  }
  return figure;
}

// A long table is written here, cell by cell as text: {"columns": [class, ...], "rows": [[class of the row, text, ...]]}.
async function writeTables() {
  for (const body of document.querySelectorAll("tbody[data-rows]")) {
    const { columns, rows } = await unpacked(body.dataset.rows);
    for (const [name, ...texts] of rows) {
      const row = body.insertRow();
      row.className = name;
      texts.forEach((text, at) => {
        const cell = row.insertCell();
        cell.className = columns[at];
        cell.textContent = text;
      });
    }
  }
}

// The summaries of checks and the meanings of phases are in one file for all pages (assets/texts.js).
function explain({ checks, phases }) {
  for (const holder of document.querySelectorAll("[data-checks]")) {
    const lines = holder.textContent.split(" ").map((name) => {
      const line = document.createElement("span");
      line.textContent = Object.hasOwn(checks, name) ? `${name}: ${checks[name]}` : name;
      return line;
    });
    holder.replaceChildren(...lines);
  }
  for (const name of document.querySelectorAll("[data-phase]")) name.title = phases[name.textContent];
}

async function drawFigures() {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line") };
  for (const holder of document.querySelectorAll("[data-figure]")) {
    const figure = await figureOf(holder.dataset.figure);
    const layout = { ...figure.layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--line"), activecolor: colour("--soft") };
    layout.font = { family: "system-ui, sans-serif", size: 12, color: colour("--ink") };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      layout[name] = { ...axis, ...layout[name] };
    }
    Plotly.react(holder, figure.data, layout, { responsive: true, displaylogo: false });
  }
}

function filterMatrix(form) {
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = (text, terms) => terms.every((term) => text.toLowerCase().includes(term));
  const chosen = new FormData(form);
  const rowTerms = words(chosen.get("cell"));
  const clientTerms = words(chosen.get("client"));
  const verdicts = new Set(chosen.getAll("verdict"));
  for (const table of document.querySelectorAll("table.filtered")) {
    for (const cell of table.querySelectorAll("[data-client]")) {
      cell.hidden = !all(cell.dataset.client, clientTerms);
    }
    for (const row of table.querySelectorAll("tbody tr")) {
      const shown = [...row.querySelectorAll("[data-verdicts]")].filter((cell) => !cell.hidden);
      const has = (cell) => cell.dataset.verdicts.split(" ").some((verdict) => verdicts.has(verdict));
      const named = row.dataset.cell === undefined || all(row.dataset.cell, rowTerms);
      row.hidden = !named || (verdicts.size > 0 && !shown.some(has));
    }
  }
  const rows = [...document.querySelectorAll("table.cells tbody tr")];
  const shown = document.getElementById("shown");
  shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  const state = new URLSearchParams([...chosen].filter(([, value]) => value !== ""));
  if (location.hash.slice(1) !== state.toString()) {
    history.replaceState(null, "", "#" + state);
  }
}

function restoreFilter(form) {
  const state = new URLSearchParams(location.hash.slice(1));
  form.elements.cell.value = state.get("cell") || "";
  form.elements.client.value = state.get("client") || "";
  for (const box of form.querySelectorAll("[name=verdict]")) {
    box.checked = state.getAll("verdict").includes(box.value);
  }
  filterMatrix(form);
}

document.addEventListener("DOMContentLoaded", () => {
  if (window.TEXTS) explain(window.TEXTS);
  window.drawn = writeTables();
  if (window.Plotly) {
    window.drawn = window.drawn.then(drawFigures);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFigures);
  }
  const form = document.getElementById("filters");
  if (form) {
    form.hidden = false;
    form.addEventListener("input", () => filterMatrix(form));
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => restoreFilter(form));
    restoreFilter(form);
  }
});

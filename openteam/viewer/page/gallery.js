// All runs of a folder: learning curves with intervals over seeds, tables, and a way to watch each checkpoint.

import { button, el, find, select, svg } from "openteam/dom.js";
import { short } from "openteam/numbers.js";
import { startTheme } from "openteam/theme.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b6bb2", "#4d8076"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const [WIDE, HIGH, LEFT, FOOT] = [560, 280, 46, 28];
const chosen = new Set();

const millions = (step) => `${Number((step / 1e6).toPrecision(3))}M`;

function chart(task, split) {
  const drawn = task.groups.filter((group) => group.curves[split]);
  const tops = drawn.flatMap(({ curves }) => curves[split].mean.flatMap((mean, at) => [mean - (curves[split].half[at] ?? 0), mean + (curves[split].half[at] ?? 0)]));
  const [low, high] = [Math.min(0, ...tops), Math.max(...tops)];
  const last = Math.max(1, ...drawn.map((group) => group.steps.at(-1)));
  const x = (step) => LEFT + (step / last) * (WIDE - LEFT - 8);
  const y = (value) => HIGH - FOOT - ((value - low) / (high - low || 1)) * (HIGH - FOOT - 8);
  const ticks = [0, 1, 2, 3, 4].map((part) => low + ((high - low) * part) / 4);
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": `Learning curves on ${task.name}, ${split}` },
    ticks.map((value) => [svg("line", { x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value), class: "axis" }), svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", text: short(value, 2) })]).flat(),
    [0, 0.5, 1].map((part) => svg("text", { x: x(part * last), y: HIGH - 10, "text-anchor": part === 1 ? "end" : "middle", text: `${millions(part * last)} steps` })),
    drawn.map((group) => curve(group, task.groups.indexOf(group), split, x, y)).flat());
}

function curve(group, number, split, x, y) {
  const { mean, half } = group.curves[split];
  const [colour, dash] = [COLOURS[number % COLOURS.length], DASHES[Math.floor(number / COLOURS.length) % DASHES.length]];
  const points = (values) => group.steps.map((step, at) => `${x(step)},${y(values[at])}`);
  const band = half[0] !== null && svg("polygon", { fill: colour, opacity: 0.18,
    points: [...points(mean.map((value, at) => value + half[at])), ...points(mean.map((value, at) => value - half[at])).reverse()].join(" ") });
  const line = svg("polyline", { points: points(mean).join(" "), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }, svg("title", { text: group.name }));
  const dots = group.steps.map((step, at) => svg("circle", { cx: x(step), cy: y(mean[at]), r: 2.5, fill: colour }, svg("title", { text: `${group.name} at ${millions(step)}: ${short(mean[at])}` })));
  return [band, line, ...dots].filter(Boolean);
}

function table(task) {
  const heads = ["algorithm", ...task.splits.map((split) => `${split}, best`), "watch a checkpoint", "compare"];
  const rows = task.groups.map((group, number) => el("tr", {},
    el("th", { scope: "row" }, el("i", { class: "swatch", style: { background: COLOURS[number % COLOURS.length] } }), group.name),
    task.splits.map((split) => el("td", { text: group.best[split] ? figure(group.best[split]) : "" })),
    el("td", {}, group.runs.map((run) => el("div", {}, `seed ${run.seed}: `, run.watchable.map((step) => [el("a", { href: `watch?run=${run.number}&step=${step}`, text: millions(step) }), " "]).flat()))),
    el("td", {}, group.runs.map((run) => el("div", {}, pick(task, group, run))))));
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { text, scope: "col" })))), el("tbody", {}, rows));
}

const figure = ([mean, half]) => (half === null ? short(mean) : `${short(mean)} ± ${short(half, 2)}`);

function pick(task, group, run) {
  const box = el("input", { type: "checkbox", "aria-label": `Compare ${group.name}, seed ${run.seed}` });
  box.addEventListener("change", () => {
    if (box.checked) chosen.add({ box, task: task.name, number: run.number });
    else for (const one of chosen) if (one.box === box) chosen.delete(one);
    pair();
  });
  return box;
}

// Two runs of one task can be compared.
function pair() {
  const both = [...chosen];
  const fit = both.length === 2 && both[0].task === both[1].task;
  const go = () => (location.href = `watch?run=${both[0].number}&against=${both[1].number}`);
  const text = both.length === 0 ? "" : fit ? "" : " Choose two runs of the same task to compare them.";
  find("pair").replaceChildren(...(fit ? [button("Compare the two on the same seeds", go, { class: "main", id: "compare-two" })] : [text]));
}

function section(task) {
  const picture = el("div", {}, chart(task, task.splits[0]));
  const choose = select("Split", task.splits.map((split) => [split, split]), task.splits[0], (split) => picture.replaceChildren(chart(task, split)));
  return el("section", { class: "task" },
    el("div", { class: "head" }, el("h2", { text: task.name }), choose),
    el("p", { class: "caption", text: "Mean return over seeds while learning; the band is its 95 % interval, missing with one seed. Table: at the best checkpoint by training return." }),
    el("div", { class: "both" }, picture, el("div", { class: "body" }, table(task))));
}

find("switches").replaceChildren(startTheme(() => {}));
const answer = await fetch("gallery.json");
if (answer.ok) {
  const { tasks, left_out: leftOut } = await answer.json();
  find("gallery").replaceChildren(...tasks.map(section), ...leftOut.map((text) => el("p", { class: "legend", text })));
} else find("status").textContent = "The runs could not be read; the terminal says more.";
document.body.dataset.ready = "yes";

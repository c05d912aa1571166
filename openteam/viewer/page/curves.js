// Learning curves of the algorithms of a task, with bands for their intervals.

import { svg } from "openteam/dom.js";
import { short } from "openteam/numbers.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b6bb2", "#4d8076"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const [LEFT, FOOT, TOP] = [46, 42, 18];
const SPARE = 0.5; // of the height that the means need, for bands

export const millions = (step) => `${Number((step / 1e6).toPrecision(3))}M`;
const look = (number) => ({
  stroke: COLOURS[number % COLOURS.length], "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(number / COLOURS.length) % DASHES.length], fill: "none",
});

// The line that an algorithm's curve is drawn with, for a table.
export const line = (number) => svg("svg", { viewBox: "0 0 22 10", class: "line", "aria-hidden": "true" }, svg("line", { x1: 0, x2: 22, y1: 5, y2: 5, ...look(number), "stroke-width": 3 }));

export function chart(task, split) {
  const [wide, high] = window.innerWidth < 600 ? [360, 250] : [560, 300];
  const drawn = task.groups.filter((group) => group.curves[split]);
  const ticks = ticksOf(drawn.map((group) => group.curves[split]));
  const [low, top] = [ticks[0], ticks.at(-1)];
  const last = Math.max(1, ...drawn.map((group) => group.steps.at(-1)));
  const x = (step) => LEFT + (step / last) * (wide - LEFT - 8);
  const y = (value) => high - FOOT - ((value - low) / (top - low)) * (high - FOOT - TOP);
  const inside = (value) => Math.max(low, Math.min(top, value));
  return svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", role: "img", "aria-label": `Learning curves on ${task.name}, ${split}` },
    ticks.map((value) => [svg("line", { x1: LEFT, x2: wide - 8, y1: y(value), y2: y(value), class: "axis" }), svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", text: short(value) })]).flat(),
    svg("text", { x: 4, y: 10, text: `return per episode on ${split}` }),
    [0, 0.5, 1].map((part) => svg("text", { x: x(part * last), y: high - 24, "text-anchor": part === 1 ? "end" : "middle", text: part ? millions(part * last) : "0" })),
    svg("text", { x: x(last / 2), y: high - 8, "text-anchor": "middle", text: "steps of training" }),
    drawn.map((group) => curve(group, task.groups.indexOf(group), split, x, (value) => y(inside(value)), drawn.length > 4 ? 0.06 : 0.14)).flat());
}

// Round numbers around all means, with some room for bands.
function ticksOf(curves) {
  const means = curves.flatMap(({ mean }) => mean);
  const ends = curves.flatMap(({ mean, half }) => mean.flatMap((value, at) => [value - (half[at] ?? 0), value + (half[at] ?? 0)]));
  const [least, most] = [Math.min(0, ...means), Math.max(0, ...means)];
  const spare = SPARE * (most - least || 1);
  const [low, top] = [Math.max(Math.min(0, ...ends), least - spare), Math.min(Math.max(0, ...ends), most + spare)];
  const rough = (top - low || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.floor(low / size);
  return Array.from({ length: Math.max(1, Math.ceil(top / size) - first) + 1 }, (_, at) => Number(((first + at) * size).toPrecision(6)));
}

function curve(group, number, split, x, y, pale) {
  const { mean, half } = group.curves[split];
  const points = (values) => group.steps.map((step, at) => `${x(step)},${y(values[at])}`);
  const { stroke } = look(number);
  const band = half[0] !== null && svg("polygon", { fill: stroke, opacity: pale,
    points: [...points(mean.map((value, at) => value + half[at])), ...points(mean.map((value, at) => value - half[at])).reverse()].join(" ") });
  const path = svg("polyline", { points: points(mean).join(" "), ...look(number) }, svg("title", { text: group.name }));
  const dots = group.steps.map((step, at) => svg("circle", { cx: x(step), cy: y(mean[at]), r: 2.5, fill: stroke }, svg("title", { text: `${group.name} at ${millions(step)} steps: ${short(mean[at])}` })));
  return [band, path, ...dots].filter(Boolean);
}

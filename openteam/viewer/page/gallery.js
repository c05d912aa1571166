// All runs of a folder: learning curves with intervals over seeds, tables, and a way to watch each checkpoint.

import { chart, line, millions } from "openteam/curves.js";
import { button, el, find, select } from "openteam/dom.js";
import { fixed } from "openteam/numbers.js";
import { startTheme } from "openteam/theme.js";

const chosen = new Set();

function table(task) {
  const heads = ["algorithm", ...task.splits, "watch (tick two to compare)"];
  const rows = task.groups.map((group, number) => el("tr", {},
    el("th", { scope: "row" }, line(number), group.name, group.changes && el("small", { class: "changes", text: group.changes })),
    task.splits.map((split) => el("td", { class: "right", "data-name": split, text: group.best[split] ? figure(group.best[split]) : "–" })),
    el("td", {}, watch(task, group))));
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((text, at) => el("th", { text, scope: "col", class: at && at < heads.length - 1 ? "right" : "" })))), el("tbody", {}, rows));
}

const figure = ([mean, half]) => (half === null ? fixed(mean) : `${fixed(mean)} ± ${fixed(half)}`);

// Runs whose policy is there; the others have only numbers.
function watch(task, group) {
  const kept = group.runs.filter((run) => run.watchable.length);
  const rows = kept.map((run) => el("div", { class: "run" }, pick(task, group, run), ` seed ${run.seed}: `,
    run.watchable.map((step) => [el("a", { href: `watch?run=${run.number}&step=${step}`, text: millions(step) }), " "]).flat()));
  const bare = group.runs.length - kept.length;
  return [...rows, bare > 0 && el("small", { text: `${bare} ${kept.length ? "more " : ""}seed${bare > 1 ? "s" : ""} without a stored policy` })];
}

function pick(task, group, run) {
  const box = el("input", { type: "checkbox", "aria-label": `Compare ${group.name}, seed ${run.seed}` });
  box.addEventListener("change", () => {
    if (box.checked) chosen.add({ box, task, number: run.number });
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
  const text = both.length === 1 ? "Tick another run of the same task to compare them." : "Tick two runs of the same task, and no more, to compare them.";
  find("pair").replaceChildren(...(fit ? [button("Compare the two on the same seeds", go, { class: "main", id: "compare-two" })] : both.length ? [text] : []));
}

function section(task, number) {
  const picture = el("div", {}, chart(task, task.splits[0]));
  const choose = select("curves on split", task.splits.map((split) => [split, split]), task.splits[0], (split) => picture.replaceChildren(chart(task, split)));
  return el("section", { class: "task", id: `task-${number}` },
    el("div", { class: "head" }, el("h2", { text: task.name }), choose),
    task.changes && el("p", { class: "caption", text: `Other settings than today's ${task.name}: ${task.changes}` }),
    el("div", { class: "both" }, picture, el("div", { class: "body" }, table(task))));
}

// Tasks of one name are numbered.
function contents(tasks) {
  const names = tasks.map((task, at) => {
    const same = tasks.filter((other) => other.name === task.name);
    return same.length > 1 ? `${task.name} (${tasks.slice(0, at + 1).filter((other) => other.name === task.name).length} of ${same.length})` : task.name;
  });
  return el("nav", { class: "row contents", "aria-label": "Tasks" }, tasks.map((_, at) => el("a", { href: `#task-${at}`, text: names[at] })));
}

const ABOUT = "Curves: mean return per episode while learning, over seeds; bands are 95 % intervals (Student's t), which one seed does " +
  "not have and two make very wide, so they may go beyond the picture. Tables: the same return on every split, at the checkpoint with the best " +
  "return on train, ± half the interval.";

find("switches").replaceChildren(startTheme(() => {}));
const answer = await fetch("gallery.json");
if (answer.ok) {
  const { tasks, left_out: leftOut } = await answer.json();
  find("gallery").replaceChildren(el("p", { class: "caption", text: ABOUT }), contents(tasks), ...tasks.map(section),
    ...leftOut.map((text) => el("p", { class: "legend", text })));
} else find("status").textContent = "The runs could not be read; the terminal says more.";
document.body.dataset.ready = "yes";

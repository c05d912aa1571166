// What two agents are worth together: all pairs on average, or one pair action by action.

import { diverging, signOf } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { largest, pairScale, short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { nameOf, roleOf, state } from "openteam/state.js";

const HELP =
  "Qⱼₖ(aⱼ, aₖ), the pairwise utilities of the coordination graph: what the joint value gains (orange) or loses (blue) because " +
  "two agents act together. All pairs: with the expected actions of the others and the chosen one of the learner.";

export class Pairs {
  constructor() {
    this.panel = new Panel("pairs", "What pairs are worth together", "", HELP);
  }

  draw(frame) {
    const why = frame.why;
    if (!this.panel.show(Boolean(why?.pair_means))) return;
    const matrix = why.pairs[state.selected];
    this.panel.caption.textContent = matrix
      ? `Rows: what the learner does. Columns: what ${roleOf(state.selected)} ${nameOf(state.selected)} does. Framed: what they did.`
      : "Orange helps, blue hurts; the arcs in the picture are the same. Click another agent to see its pair with the learner by action.";
    this.panel.body.replaceChildren(matrix ? byAction(frame, matrix) : byAgent(frame));
  }
}

function byAgent(frame) {
  const there = frame.why.exists.map((share, slot) => (share > 0.02 ? slot : -1)).filter((slot) => slot >= 0);
  const means = frame.why.pair_means;
  const most = pairScale(frame.why);
  const rows = there.map((one) => el("tr", {}, el("th", { text: nameOf(one), scope: "row" }),
    there.map((other) => cell(one === other ? null : means[one][other], most, false, `${nameOf(one)} with ${nameOf(other)}`))));
  return el("table", { class: "heat" }, el("thead", {}, el("tr", {}, el("td"), there.map((slot) => el("th", { text: nameOf(slot), scope: "col" })))), el("tbody", {}, rows));
}

function byAction(frame, matrix) {
  const names = state.stage.actions;
  const most = largest(matrix.flat());
  const rows = matrix.map((row, mine) => el("tr", {}, el("th", { text: signOf(names[mine]), title: names[mine], scope: "row" }),
    row.map((value, other) => cell(value, most, mine === frame.actions[0] && other === frame.actions[state.selected], `learner ${names[mine]}, ${nameOf(state.selected)} ${names[other]}`))));
  return el("table", { class: "heat" }, el("thead", {}, el("tr", {}, el("td"), names.map((name) => el("th", { text: signOf(name), title: name, scope: "col" })))), el("tbody", {}, rows));
}

function cell(value, most, framed, about) {
  if (value === null) return el("td", { class: "none" });
  return el("td", { class: framed ? "framed" : "", title: `${about}: ${short(value)}`, text: short(value, 2), style: { background: diverging(most ? value / most : 0) } });
}

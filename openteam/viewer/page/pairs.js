// What two agents are worth together: all pairs on average, or one pair action by action.

import { diverging, signOf } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { shownSlots } from "openteam/events.js";
import { largest, pairScale, placesFor, rounded, short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { isTurn, nameOf, roleOf, state } from "openteam/state.js";

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
      ? `What it adds to the value if the learner does the row's action and ${roleOf(state.selected)} ${nameOf(state.selected)} the column's.${together(frame) ? " Framed: what they did." : ""}`
      : "What two agents add to the value by acting together: orange helps, blue (minus) hurts. Arcs in the picture show the same. Select another agent to see actions.";
    this.panel.body.replaceChildren(matrix ? byAction(frame, matrix) : byAgent(frame));
  }
}

// Whether the page may tell what the selected agent did.
const together = (frame) => !isTurn(frame) && shownSlots(frame, state.truth).includes(state.selected);

function byAgent(frame) {
  const there = frame.why.exists.map((share, slot) => (share > 0.02 ? slot : -1)).filter((slot) => slot >= 0);
  const means = frame.why.pair_means;
  const most = pairScale(frame.why);
  const places = placesFor(largest(means.flat()));
  const rows = there.map((one) => el("tr", {}, el("th", { text: nameOf(one), scope: "row" }),
    there.map((other) => cell(one === other ? null : means[one][other], most, places, false, `${nameOf(one)} with ${nameOf(other)}`))));
  return el("table", { class: "heat" }, el("thead", {}, el("tr", {}, el("td"), there.map((slot) => el("th", { text: nameOf(slot), scope: "col" })))), el("tbody", {}, rows));
}

function byAction(frame, matrix) {
  const names = state.stage.actions;
  const most = largest(matrix.flat());
  const places = placesFor(most);
  const rows = matrix.map((row, mine) => el("tr", {}, el("th", { text: signOf(names[mine]), title: names[mine], scope: "row" }),
    row.map((value, other) => cell(value, most, places, together(frame) && mine === frame.actions[0] && other === frame.actions[state.selected], `learner ${names[mine]}, ${nameOf(state.selected)} ${names[other]}`))));
  return el("table", { class: "heat" }, el("thead", {}, el("tr", {}, el("td"), names.map((name) => el("th", { text: signOf(name), title: name, scope: "col" })))), el("tbody", {}, rows));
}

function cell(value, most, places, framed, about) {
  if (value === null) return el("td", { class: "none" });
  return el("td", { class: framed ? "framed" : "", title: `${about}: ${short(value)}`, text: rounded(value, places), style: { background: diverging(most ? value / most : 0) } });
}

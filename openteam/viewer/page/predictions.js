// What the learner expects everybody to do, beside what they then did.

import { colourOf, signOf } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { predictionScore, predictions } from "openteam/events.js";
import { fixed, percent } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { frames, nameOf, roleOf, state, typeOf, update } from "openteam/state.js";

const HELP =
  "q(a₋ᵢ | H), the agent model of the paper: the probability of everybody's next action, given all that was seen of them. " +
  "Columns are actions. The framed one is what the agent then did.";

const SHORT = { none: "none", stay: "stay" }; // words that fit and say more than their sign

export class Predictions {
  // set is called with a slot and an action that it should do next in a what if.
  constructor(set) {
    this.set = set;
    this.panel = new Panel("predictions", "What it expects the others to do", "", HELP);
  }

  draw(frame) {
    const told = predictions(frame);
    if (!this.panel.show(Boolean(frame.why?.predicted))) return;
    this.panel.caption.textContent =
      "The fuller a box, the likelier the action. Framed: what the agent then did." + (this.set ? " Click a box to ask: what if it did that?" : "");
    const head = el("tr", {}, el("td"), state.stage.actions.map((name) => el("th", { text: SHORT[name] ?? signOf(name), title: name, scope: "col" })), el("th", { text: "correct", title: "How often the likeliest action was the one that followed" }));
    const rows = told.map((one) => this.row(frame, one));
    const empty = told.length ? null : el("p", { class: "legend", text: "The learner sees nobody else now." });
    this.panel.body.replaceChildren(empty ?? el("table", { class: "predictions" }, el("thead", {}, head), el("tbody", {}, rows)), score());
  }

  row(frame, one) {
    const name = `${roleOf(one.slot)} ${nameOf(one.slot)}`;
    const mine = predictionScore(frames(), state.at, one.slot);
    const forced = state.changes.find((change) => change.set === one.slot)?.action;
    const cells = one.probabilities.map((share, action) => {
      const done = action === (forced ?? one.did);
      const about = `${name}: ${state.stage.actions[action]} ${percent(share)}${done ? ", done" : ""}`;
      const column = el("i", { style: { height: `${Math.round(100 * share)}%`, background: colourOf(one.slot, roleOf(one.slot)) } });
      const cell = this.set
        ? el("button", { type: "button", "aria-label": about, title: about, onclick: () => this.set(one.slot, action) }, column)
        : el("span", { "aria-label": about, title: about }, column);
      return el("td", { class: `column${done ? " done" : ""}${done && action !== one.best ? " surprise" : ""}` }, cell);
    });
    const choose = el("button", { type: "button", class: "who", onclick: () => update({ selected: one.slot }) }, dot(one.slot), name, state.types && el("small", { class: "type", text: typeOf(frame, one.slot) }));
    return el("tr", { class: one.slot === state.selected ? "selected" : "", "data-slot": one.slot }, el("th", { scope: "row" }, choose), cells,
      el("td", { class: "right", text: mine.count ? `${mine.right}/${mine.count}` : "" }));
  }
}

export const dot = (slot) => el("i", { class: `dot ${roleOf(slot)}`, style: { background: colourOf(slot, roleOf(slot)) } });

function score() {
  const all = predictionScore(frames(), state.at);
  const text = all.count
    ? `So far its likeliest guess was right ${all.right} of ${all.count} times (${percent(all.right / all.count)}). On average it gave what followed a probability of ${fixed(all.likely)}; blind guessing gives ${fixed(1 / state.stage.actions.length)}.`
    : "Nobody to predict so far.";
  return el("p", { class: "legend", id: "prediction-score", text });
}

// Who is present, since when, and of which type.

import { button, el } from "openteam/dom.js";
import { shownSlots, since } from "openteam/events.js";
import { short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { dot } from "openteam/predictions.js";
import { episode, frames, nameOf, roleOf, state, typeOf, update } from "openteam/state.js";

const HELP =
  "The open team: agents join and leave without notice (the open part of P). A true type is a member of Θ, drawn when an agent " +
  "arrives; the learner never sees it.";

export class Team {
  constructor() {
    this.panel = new Panel("team", "Who is here", "Everybody in the team now, and the reward that each got so far. Click a name to select an agent.", HELP);
  }

  draw(frame) {
    const rows = shownSlots(frame, state.truth).map((slot) => {
      const you = episode()?.seat === slot ? " (you)" : "";
      const name = button("", () => update({ selected: slot }), { class: "who" });
      name.append(dot(slot), `${roleOf(slot)} ${nameOf(slot)}${you}`);
      const type = state.stage.types[frame.types[slot]];
      return el("tr", { class: slot === state.selected ? "selected" : "", "data-slot": slot },
        el("th", { scope: "row" }, name),
        el("td", { text: `step ${since(frames(), state.at, slot)}` }),
        el("td", { text: slot === 0 ? "–" : state.types ? typeOf(frame, slot) : "hidden", title: state.types && slot ? type?.what : "" }),
        el("td", { class: "right", text: short(frame.returns[slot]) }));
    });
    const heads = ["agent", "here since", "true type", "return so far"].map((text) => el("th", { text, scope: "col" }));
    this.panel.body.replaceChildren(el("table", { class: "team" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)),
      about(frame));
  }
}

function about(frame) {
  const slot = state.selected;
  if (!state.types || slot === 0 || !shownSlots(frame, state.truth).includes(slot)) return "";
  const type = state.stage.types[frame.types[slot]];
  return el("p", { class: "legend", text: type?.what ? `${type.name}: ${type.what}` : "" });
}

// What the learner believes about those whom it cannot see.

import { GHOST } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { fixed, percent } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { dot } from "openteam/predictions.js";
import { nameOf, roleOf, state } from "openteam/state.js";

const HELP =
  "The belief b over what is hidden, “GPL under Partial Observability” in the paper: existence eⱼ and state sⱼ of every " +
  "possible teammate, by an autoencoder or by weighted particles.";

export class BeliefPanel {
  constructor() {
    this.panel = new Panel("belief", "Who it believes is there", "How sure the learner is that each teammate is in the team now. Dashed pink rings in the picture: where it believes them to be.", HELP);
  }

  draw(frame) {
    const belief = frame.why?.belief;
    if (!this.panel.show(Boolean(belief))) return;
    const rows = belief.exists.map((share, slot) => slot && el("div", { class: "bar-row", "data-slot": slot },
      el("span", { class: "name" }, dot(slot), `${roleOf(slot)} ${nameOf(slot)}`),
      el("span", { class: "track" }, el("i", { class: "piece", style: { left: 0, width: `${100 * share}%`, background: GHOST } })),
      el("span", { class: "number", text: percent(share) }, state.truth && el("small", { text: truth(frame, slot) }))));
    const expected = 1 + belief.exists.slice(1).reduce((sum, share) => sum + share, 0);
    const really = state.truth ? `; there are ${frame.present.length}` : "";
    this.panel.body.replaceChildren(el("div", { class: "bars" }, rows.filter(Boolean)),
      el("p", { class: "legend", id: "believed", text: `It believes in ${fixed(expected, 1)} agents, itself included${really}.` }));
  }
}

function truth(frame, slot) {
  if (!frame.present.includes(slot)) return " not there";
  return frame.visible.includes(slot) ? " in sight" : " out of sight";
}

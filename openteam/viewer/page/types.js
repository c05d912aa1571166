// What kind of agent the learner takes everybody for: nearby dots are agents that it takes to be alike.

import { colourOf, GOLD, inkOn } from "openteam/colours.js";
import { svg } from "openteam/dom.js";
import { Panel } from "openteam/panel.js";
import { Projection } from "openteam/projection.js";
import { frames, nameOf, roleOf, state, typeOf, update } from "openteam/state.js";

const [WIDE, HIGH, TRAIL] = [340, 170, 12];
const HELP =
  "θⱼ, the type vectors that the type inference network (an LSTM) computes for every agent from what was seen of it. Drawn are " +
  "the two directions in which they differ most in this episode; the tail is where an agent's dot was before.";

export class Types {
  constructor() {
    this.panel = new Panel("types", "Whom it takes them for", "Dots close together: agents that seem to it to behave alike. Tails: where a dot was in the last steps. The directions have no unit.", HELP);
    this.projection = null;
    this.owner = null;
  }

  draw(frame) {
    if (!this.panel.show(Boolean(frame.why?.type_vectors))) return;
    const list = frames();
    if (this.owner !== list) [this.owner, this.projection] = [list, new Projection()];
    const known = list.filter((one) => one.why?.type_vectors);
    const vectors = known.flatMap((one) => seen(one).map((slot) => one.why.type_vectors[slot]));
    if (!vectors.length) return;
    this.projection.fit(vectors, known.length);
    const points = vectors.map((vector) => this.projection.of(vector));
    const [left, right] = bounds(points.map((point) => point[0]));
    const [low, high] = bounds(points.map((point) => point[1]));
    const place = (vector) => {
      const [x, y] = this.projection.of(vector);
      return [16 + ((x - left) / (right - left)) * (WIDE - 32), 14 + ((high - y) / (high - low)) * (HIGH - 28)];
    };
    const marks = seen(frame).map((slot) => mark(frame, slot, list, place));
    this.panel.body.replaceChildren(svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "scatter", role: "img", "aria-label": "Type vectors of all agents" },
      svg("rect", { width: WIDE, height: HIGH, class: "field" }), ...marks));
  }
}

const seen = (frame) => (frame.why.belief ? frame.present : frame.visible);

function mark(frame, slot, list, place) {
  const colour = colourOf(slot, roleOf(slot));
  const trail = list.slice(Math.max(0, state.at - TRAIL), state.at)
    .filter((one) => one.why?.type_vectors && seen(one).includes(slot) && one.visits[slot] === frame.visits[slot])
    .map((one) => place(one.why.type_vectors[slot]));
  const [x, y] = place(frame.why.type_vectors[slot]);
  const chosen = slot === state.selected;
  const words = `${roleOf(slot)} ${nameOf(slot)}${state.types && slot ? `, ${typeOf(frame, slot)}` : ""}`;
  return svg("g", { class: "mark", onclick: () => update({ selected: slot }) },
    svg("title", { text: words }),
    svg("polyline", { points: [...trail, [x, y]].map((point) => point.join(",")).join(" "), stroke: slot ? colour : GOLD, class: "trail" }),
    svg("circle", { cx: x, cy: y, r: chosen ? 10 : 8, fill: colour, class: chosen ? "chosen" : slot ? "" : "learner" }),
    svg("text", { x, y: y + 3.5, class: "letter", fill: inkOn(colour), text: nameOf(slot) }),
    state.types && slot > 0 && svg("text", { x, y: y > 30 ? y - 12 : y + 20, class: "type", "text-anchor": x < 60 ? "start" : x > WIDE - 60 ? "end" : "middle", text: typeOf(frame, slot) }));
}

function bounds(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return high - low < 1e-6 ? [low - 1, high + 1] : [low, high];
}

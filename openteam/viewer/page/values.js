// What each of the learner's actions is worth to it, and where that comes from.

import { signOf } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { fixed, largest, mean, percent, short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { state } from "openteam/state.js";

const HELP =
  "Q̄(H, aᵢ), “Action Selection” in the paper: the joint action value with the others' actions averaged out. Own share: the " +
  "singular utility Qᵢ(aᵢ). Team share: the sum of E Qᵢⱼ(aᵢ, aⱼ) over the others j. What others earn among themselves is the " +
  "same for each action and left out of the bars.";

export class Values {
  constructor() {
    this.panel = new Panel("values", "What the learner's actions are worth", "", HELP);
  }

  draw(frame, before) {
    const why = frame.why;
    if (!this.panel.show(Boolean(why?.values || why?.probabilities))) return;
    this.panel.caption.textContent = why.values
      ? "Bars: better or worse than its average action. Right: the value itself."
      : "How likely the learner was to take each action.";
    this.panel.body.replaceChildren(valueTable(frame, before));
  }
}

export function valueTable(frame, before) {
  const why = frame.why;
  const told = why.values ? bars(why) : chances(why);
  const old = before?.why && (why.values ? bars(before.why) : chances(before.why));
  const most = largest([...told, ...(old ?? [])].flatMap((bar) => [bar.total, bar.own, bar.team])) || 1;
  const rows = told.map((bar, action) => row(bar, old?.[action], action, most, why));
  const shares = why.singular_share && el("p", { class: "legend" },
    el("i", { class: "swatch own" }), "own share ", el("i", { class: "swatch team" }), "team share ",
    el("i", { class: "swatch total" }), "both", old && el("span", {}, el("i", { class: "swatch outline" }), " before the change"));
  const state_value = why.value !== null && why.value !== undefined &&
    el("p", { class: "legend", text: `The situation as a whole is worth ${short(why.value)} to it.` });
  return el("div", {}, el("div", { class: old ? "bars compared" : "bars" }, rows), shares, state_value);
}

// Each action's deviation from the average one, in all and by share.
function bars(why) {
  const middle = (values) => values.map((value) => value - mean(values));
  const [total, own, team] = [why.values, why.singular_share, why.pairwise_share].map((part) => part && middle(part));
  return total.map((value, action) => ({
    total: value, own: own?.[action], team: team?.[action], text: short(why.values[action], 4),
  }));
}

const chances = (why) => why.probabilities.map((share) => ({ total: share, text: percent(share) }));

function row(bar, old, action, most, why) {
  const chosen = action === why.action;
  const best = why.best !== undefined && why.best === action && !chosen;
  const name = state.stage.actions[action];
  const sign = signOf(name) === name ? "" : `${signOf(name)} `;
  return el("div", { class: `bar-row${chosen ? " chosen" : ""}`, "data-action": action },
    el("span", { class: "name", text: `${chosen ? "➤ " : best ? "▹ " : ""}${sign}${name}` }),
    el("span", { class: "track" },
      piece("total", bar.total, most), piece("own", bar.own, most), piece("team", bar.team, most),
      old && piece("outline", old.total, most)),
    el("span", { class: "number", "data-value": bar.text }, bar.text,
      old && old.text !== bar.text && el("small", { text: ` was ${old.text}` })));
}

// A bar from the middle to the right or to the left; where nothing is below zero, from the left.
function piece(kind, value, most) {
  if (value === null || value === undefined) return null;
  const share = (50 * Math.abs(value)) / most;
  return el("i", { class: `piece ${kind}`, title: `${kind} ${fixed(value, 3)}`,
    style: { left: `${value < 0 ? 50 - share : 50}%`, width: `${share}%` } });
}

// What each of the learner's actions is worth to it, and where that comes from.

import { signOf } from "openteam/colours.js";
import { el } from "openteam/dom.js";
import { fixed, largest, mean, percent, placesFor, rounded, short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { state } from "openteam/state.js";

const HELP =
  "Q̄(H, aᵢ), “Action Selection” in the paper: the joint action value with the others' actions averaged out. By itself: the " +
  "singular utility Qᵢ(aᵢ). Through what others do: the sum of E Qᵢⱼ(aᵢ, aⱼ) over the others j. What others earn among " +
  "themselves is the same for each action and left out of the bars. Rewards that are further away count less.";

const TITLE = "What the learner's actions are worth";

export const captionOf = (why) => (why.values
  ? "Value: the reward that it expects from now on if it does this next. Bars: better or worse than the average of its actions. ➤ what it does."
  : "This learner has no values, only probabilities. ➤ what it does.");

export class Values {
  constructor() {
    this.panel = new Panel("values", TITLE, "", HELP);
  }

  draw(frame, before) {
    const why = frame.why;
    if (!this.panel.show(Boolean(why?.values || why?.probabilities))) return;
    this.panel.heading.textContent = state.mode === "compare" ? `Left run: what ${state.stage.player} thinks its actions are worth` : why.values ? TITLE : "How likely it was to take each action";
    this.panel.caption.textContent = captionOf(why);
    this.panel.body.replaceChildren(valueTable(frame, before));
  }
}

export function valueTable(frame, before) {
  const why = frame.why;
  const told = why.values ? bars(why) : chances(why);
  const old = before?.why && (why.values ? bars(before.why) : chances(before.why));
  const most = why.values ? largest([...told, ...(old ?? [])].flatMap((bar) => [bar.total, bar.own, bar.team])) || 1 : 1;
  const rows = told.map((bar, action) => row(bar, old?.[action], action, most, why));
  const ends = why.values ? [el("span", { text: "◂ worse" }), el("span", { text: "better ▸" })] : [el("span", { text: percent(0) }), el("span", { text: percent(most) })];
  const head = el("div", { class: "bar-row bar-head" }, el("span", { text: "action" }), el("span", { class: "ends" }, ends),
    el("span", { class: "number", text: why.values ? "value" : "chance" }));
  const sign = (kind, text) => el("span", {}, el("i", { class: `swatch ${kind}` }), text);
  const parts = why.singular_share ? ["From top to bottom: ", sign("total", "together"), sign("own", "by itself"), sign("team", "through what others do")] : [];
  const shares = (parts.length > 0 || old) && el("p", { class: "legend" }, parts, old && sign("outline", "before the change"));
  const state_value = why.value !== null && why.value !== undefined &&
    el("p", { class: "legend", text: `The situation as a whole is worth ${short(why.value)} to it.` });
  return el("div", {}, el("div", { class: old ? "bars compared" : "bars" }, head, rows), shares, state_value);
}

// Each action's deviation from the average one, in all and by share.
function bars(why) {
  const middle = (values) => values.map((value) => value - mean(values));
  const [total, own, team] = [why.values, why.singular_share, why.pairwise_share].map((part) => part && middle(part));
  const places = placesFor(Math.max(...why.values) - Math.min(...why.values));
  return total.map((value, action) => ({
    total: value, own: own?.[action], team: team?.[action], value: short(why.values[action], 4), text: rounded(why.values[action], places),
  }));
}

const chances = (why) => why.probabilities.map((share) => ({ total: share, value: share, text: percent(share), fromLeft: true }));

function row(bar, old, action, most, why) {
  const chosen = action === why.action;
  const best = why.best !== undefined && why.best === action && !chosen;
  const name = state.stage.actions[action];
  const sign = signOf(name) === name ? "" : `${signOf(name)} `;
  return el("div", { class: `bar-row${chosen ? " chosen" : ""}`, "data-action": action },
    el("span", { class: "name", text: `${chosen ? "➤ " : best ? "▹ " : ""}${sign}${name}` }),
    el("span", { class: bar.fromLeft ? "track whole" : "track" },
      piece("total", bar.total, most, bar.fromLeft), piece("own", bar.own, most), piece("team", bar.team, most),
      old && piece("outline", old.total, most, bar.fromLeft)),
    el("span", { class: "number", "data-value": bar.value }, bar.text,
      old && old.text !== bar.text && el("small", { text: ` was ${old.text}` })));
}

// A bar from the middle to the right or to the left; of what is never below zero, from the left.
function piece(kind, value, most, fromLeft) {
  if (value === null || value === undefined) return null;
  const middle = fromLeft ? 0 : 50;
  const share = ((100 - middle) * Math.abs(value)) / most;
  return el("i", { class: `piece ${kind}`, title: `${kind} ${fixed(value, 3)}`,
    style: { left: `${value < 0 ? middle - share : middle}%`, width: `${share}%` } });
}

// Take a seat: keys act for one agent, and at the end you are compared with the types and the learner.

import { button, el, select } from "openteam/dom.js";
import { short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { episode, frames, nameOf, roleOf, state, update } from "openteam/state.js";

const HELP =
  "Every row is who could have acted in your place on the same seeds: the same start, the same others, the same luck. " +
  "Its return: what that agent was paid. The types are Θ in the paper.";
const WORDS = { " ": "Space", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };

export class Play {
  constructor({ ask, opened, added, fail }) {
    Object.assign(this, { ask, opened, added, fail });
    this.panel = new Panel("seat", "Play along", "", HELP);
    this.seat = 0;
    this.acting = false;
    const seats = state.stage.roles.map((role, slot) => [String(slot), `${role} ${nameOf(slot)}`]);
    this.chooser = select("Take the seat of", seats, "0", (seat) => (this.seat = Number(seat)));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  start() {
    const seed = Math.floor(Math.random() * 1e6);
    update({ score: null });
    return this.begin(seed);
  }

  async begin(seed) {
    try {
      this.opened(await this.ask({ do: "new", seed, seat: this.seat }));
      update({ selected: this.seat, ...(this.seat === 0 && state.stage.partial ? { truth: false } : {}) });
      document.activeElement?.blur();
    } catch (error) {
      this.fail(error.message);
    }
  }

  get ready() {
    const one = episode();
    return state.mode === "play" && one?.seat !== null && one?.seat !== undefined && !one.frames.at(-1).over;
  }

  key(event) {
    const action = state.stage.keys.indexOf(event.key);
    if (!this.ready || action < 0 || event.ctrlKey || event.metaKey || ["SELECT", "INPUT", "SUMMARY"].includes(event.target.tagName)) return;
    event.preventDefault();
    this.act(action);
  }

  async act(action) {
    if (this.acting || !this.ready) return;
    this.acting = true;
    try {
      this.added(episode(), await this.ask({ do: "act", episode: episode().id, action }));
      update({ at: frames().length - 1, changes: [], asked: null });
      if (frames().at(-1).over) await this.finish();
    } catch (error) {
      this.fail(error.message);
    } finally {
      this.acting = false;
    }
  }

  async finish() {
    update({ busy: true });
    const { score } = await this.ask({ do: "score" });
    update({ score, busy: false });
  }

  async save() {
    const { saved } = await this.ask({ do: "save", episode: episode().id });
    const link = el("a", { href: URL.createObjectURL(new Blob([saved], { type: "text/html" })), download: `episode-${episode().seed}.html` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  draw() {
    if (!this.panel.show(state.mode === "play")) return;
    const one = episode();
    const seated = one?.seat !== null && one?.seat !== undefined;
    this.panel.caption.textContent = this.sentence(one, seated);
    this.panel.body.replaceChildren(
      el("div", { class: "row" }, this.chooser, button(seated ? "Play another" : "Start", () => this.start(), { id: "start", class: "main" }),
        seated && button("Save episode", () => this.save(), { id: "save" })),
      seated ? this.keys() : "", state.busy ? el("p", { class: "legend", text: "Playing the same seeds with everybody else…" }) : "",
      state.score ? scoreTable(state.score) : "");
  }

  sentence(one, seated) {
    if (!seated) return "Choose whose place to take. The others do not notice.";
    const last = one.frames.at(-1);
    if (last.over) return "The episode is over.";
    const who = `${roleOf(one.seat)} ${nameOf(one.seat)}`;
    return last.present.includes(one.seat) ? `You are ${who}. Press a key or click: each is one step.` : `${who} has left. Any key goes on until somebody is in its place.`;
  }

  keys() {
    const keys = state.stage.actions.map((name, action) =>
      button(name, () => this.act(action), { "data-act": action }));
    keys.forEach((key, action) => key.prepend(el("kbd", { text: WORDS[state.stage.keys[action]] ?? state.stage.keys[action] }), " "));
    return el("div", { class: "row keys" }, keys);
  }
}

function scoreTable({ seat, episodes, rows }) {
  const heads = ["who acts here", "its return", "the learner's return"].map((text, at) => el("th", { text, scope: "col", class: at ? "right" : "" }));
  const body = [...rows].sort((one, other) => other.seat - one.seat).map((row) => el("tr", { class: row.name === "you" ? "selected" : "" },
    el("th", { text: row.name, scope: "row", title: state.stage.types.find((type) => type.name === row.name)?.what }), el("td", { class: "right", text: short(row.seat) }), el("td", { class: "right", text: short(row.learner) })));
  return el("div", {}, el("p", { class: "legend", text: `You in the place of ${roleOf(seat)} ${nameOf(seat)}, beside everybody else who could act there: mean over ${episodes} episode${episodes > 1 ? "s" : ""} from the same seeds. ${state.stage.types.at(0).name}, … are the types of teammates.` }),
    el("table", { class: "team", id: "score" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body)));
}

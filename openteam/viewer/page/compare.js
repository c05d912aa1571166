// Two runs on the same seed, side by side.

import { button, el } from "openteam/dom.js";
import { short } from "openteam/numbers.js";
import { Panel } from "openteam/panel.js";
import { go, state, update } from "openteam/state.js";
import { valueTable } from "openteam/values.js";
import { World } from "openteam/world.js";

const HELP =
  "Both runs play the same seed: the same start and the same luck. After their first different action the two episodes go their " +
  "own ways. The golden dots on the timeline are steps of the left episode where the right run, seeing what the left one saw, would " +
  "have acted otherwise.";

export class Compare {
  constructor({ ask, fail, redraw }) {
    Object.assign(this, { ask, fail });
    this.panel = new Panel("compare", "The other run", "", HELP);
    this.canvas = el("canvas", { id: "other-world" });
    this.holder = el("div", { class: "other" }, this.canvas);
    this.world = new World(this.canvas, redraw);
    this.words = el("div");
    this.panel.body.append(this.holder, this.words);
    this.running = false;
  }

  async start(seed) {
    if (this.running || !state.stage.rival) return;
    this.running = true;
    const compared = { seed, sides: [[], []], other: [], differs: [] };
    update({ compared, at: 0, changes: [], asked: null, selected: 0 });
    try {
      await this.ask({ do: "compare", seed }, (part) => {
        if (!part.frames) return;
        part.frames.forEach((frame, number) => (compared.sides[part.side][part.first + number] = frame));
        if (part.other !== undefined) {
          compared.other[part.first] = part.other;
          if (part.other !== part.frames[0].why.action) compared.differs.push(part.first);
        }
        update({});
      });
    } catch (error) {
      this.fail(error.message);
    }
    this.running = false;
  }

  draw() {
    if (!this.panel.show(state.mode === "compare")) return;
    if (!state.stage.rival) {
      this.panel.caption.textContent = state.stage.gallery ? "Nothing to compare with yet: choose two runs of the same task under “all runs”." : "Nothing to compare with yet. Start with: openteam watch RUN --against OTHER_RUN.";
      this.holder.hidden = true;
      return;
    }
    this.panel.heading.textContent = `Right run: ${state.stage.rival}`;
    const list = state.compared?.sides[1] ?? [];
    const frame = list[Math.min(state.at, list.length - 1)];
    this.panel.caption.textContent = frame ? "Another learner on the same seed. Golden dots on the timeline: in the left one's place it would have acted otherwise." : "Playing…";
    if (!frame) return;
    this.world.draw(frame, { tallest: 330 });
    this.words.replaceChildren(...this.about(frame, list));
  }

  about(frame, list) {
    const { other, differs, sides } = state.compared;
    const names = state.stage.actions;
    const here = other[state.at];
    const next = differs.find((step) => step > state.at);
    const mine = sides[0][state.at]?.why?.action;
    const sentence = here === undefined ? "The left episode is over."
      : here === mine ? `In the left one's place it would do the same now: “${names[here]}”.`
        : `In the left one's place it would do “${names[here]}” now, not “${names[mine]}”.`;
    return [
      el("p", { class: "legend", id: "verdict", text: sentence }),
      el("p", { class: "legend", id: "totals", text: `Return of the learner: left ${short(sides[0].at(-1).returns[0])}, right ${short(list.at(-1).returns[0])}. Decisions differ in ${differs.length} of ${other.length} steps.` }),
      el("div", { class: "row small" }, button("Next difference", () => next !== undefined && go(next), { id: "next-difference", disabled: next === undefined }),
        button("Another seed", () => this.start(state.compared.seed + 1), { id: "another-seed" })),
      ...(frame.why ? [el("h3", { text: "What it thinks its actions are worth" }), valueTable(frame)] : []),
    ];
  }
}

// Play, pause, step, scrub, speed, and jumps to what happens next.

import { button, el, find, select } from "openteam/dom.js";
import { kinds, next } from "openteam/events.js";
import { episode, frames, go, state, update } from "openteam/state.js";
import { drawTimeline, span, stepAt } from "openteam/timeline.js";

const SPEEDS = [1, 2, 4, 8, 15, 30];

export class Transport {
  // more asks for frames beyond those that are there; fresh starts another episode; say tells the reader something.
  constructor({ more, fresh, say }) {
    Object.assign(this, { more, say });
    this.play = button("▶ Play", () => update({ playing: !state.playing }), { id: "play", class: "main" });
    this.scrub = el("input", { type: "range", min: 0, max: 1, value: 0, step: 1, id: "scrub", "aria-label": "Step of the episode" });
    this.scrub.addEventListener("input", () => this.pauseAt(Number(this.scrub.value)));
    this.strip = el("canvas", { id: "timeline", title: "Click to go there" });
    this.strip.addEventListener("pointerdown", (event) => this.drag(event));
    this.strip.addEventListener("pointermove", (event) => event.buttons && this.drag(event));
    this.key = el("p", { class: "key" });
    this.episodes = el("select", { id: "episode", "aria-label": "Episode", onchange: () => this.choose() });
    const steps = [["|◀", 0, "To the start"], ["‹ 1", -1, "One step back"], ["1 ›", 1, "One step on"]];
    find("transport").replaceChildren(
      el("div", { class: "row" }, el("div", { class: "row", id: "playing" },
        this.play,
        steps.map(([text, by, title]) => button(text, () => this.pauseAt(by ? state.at + by : 0), { title, "aria-label": title })),
        select("Speed", SPEEDS.map((speed) => [String(speed), `${speed}/s`]), String(state.speed), (speed) => update({ speed: Number(speed) }), "Steps per second"),
      ), el("div", { class: "row" }, this.episodes, fresh && button("New episode", fresh, { id: "fresh" }))),
      el("div", { class: "strip" }, this.strip, this.scrub),
      this.key,
      el("div", { class: "row small" }, "Go to the next ", kinds.map((kind) => button(kind, () => this.jump(kind)))),
    );
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  async pauseAt(at) {
    update({ playing: false });
    if (at >= frames().length) await this.more();
    go(at);
  }

  drag(event) {
    this.pauseAt(stepAt(this.strip, event));
  }

  choose() {
    update({ current: Number(this.episodes.value), at: 0, changes: [], asked: null, playing: false });
  }

  // A jump may lead beyond the frames that are there.
  async jump(kind) {
    update({ playing: false });
    let to = next(frames(), state.at, kind);
    while (to === null && !frames().at(-1)?.over && (await this.more())) to = next(frames(), state.at, kind);
    if (to === null) this.say(`No ${kind} until the end of the episode.`);
    else go(to);
  }

  tick(now) {
    requestAnimationFrame((later) => this.tick(later));
    const wait = 1000 / state.speed;
    if (!state.playing || now - this.last < wait - 1) return;
    this.last = Math.max(this.last + wait, now - wait); // a late frame does not delay the next
    const list = frames();
    if (list.length - state.at < 40) this.more();
    if (state.at < list.length - 1) go(state.at + 1);
    else if (list.at(-1)?.over) update({ playing: false });
  }

  draw() {
    const list = frames();
    this.play.textContent = state.playing ? "⏸ Pause" : "▶ Play";
    this.scrub.max = span();
    this.scrub.value = state.at;
    const options = state.episodes.map((one, number) =>
      el("option", { value: number, text: label(one), selected: one === episode() }));
    this.episodes.replaceChildren(...options);
    this.key.textContent = keyOf();
    drawTimeline(this.strip);
  }
}

function keyOf() {
  const predicts = frames().some((frame) => frame.why?.predicted);
  return ["Lanes: who is in the team; a pale edge is an arrival, an end a departure. ▲ the learner is rewarded, ▼ it pays.",
    predicts && "Grey: it predicted somebody wrongly.", state.mode === "compare" && "Golden dots: the two runs decide differently."].filter(Boolean).join(" ");
}

function label(one) {
  const origin = one.origin === null || one.origin === undefined ? "" : `, changed at step ${one.origin}`;
  const seat = one.seat === null || one.seat === undefined ? "" : `, you are ${state.stage.names[one.seat]}`;
  return `Episode ${one.seed}${origin}${seat}`;
}

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
    this.episodes = el("select", { id: "episode", "aria-label": "Episode", onchange: () => this.choose() });
    const steps = [["|◀", 0, "To the start"], ["◀", -1, "One step back"], ["▶|", 1, "One step on"]];
    find("transport").replaceChildren(
      el("div", { class: "row" },
        this.play,
        steps.map(([text, by, title]) => button(text, () => this.pauseAt(by ? state.at + by : 0), { title, "aria-label": title })),
        select("Speed", SPEEDS.map((speed) => [String(speed), `${speed}/s`]), String(state.speed), (speed) => update({ speed: Number(speed) })),
        this.episodes,
        fresh && button("New episode", fresh, { id: "fresh" }),
      ),
      el("div", { class: "strip" }, this.strip, this.scrub),
      el("p", { class: "key", text: "Lanes: who is here; a pale edge is an arrival. ▲ reward, ▼ penalty. Grey ticks: a prediction was wrong." }),
      el("div", { class: "row small" }, "Next ", kinds.map((kind) => button(kind, () => this.jump(kind)))),
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
    drawTimeline(this.strip);
  }
}

function label(one) {
  const origin = one.origin === null || one.origin === undefined ? "" : `, changed at step ${one.origin}`;
  const seat = one.seat === null || one.seat === undefined ? "" : `, you are ${state.stage.names[one.seat]}`;
  return `Episode ${one.seed}${origin}${seat}`;
}

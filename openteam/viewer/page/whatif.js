// What if somebody were not here, or elsewhere, or did something else? The learner's values follow at once.

import { button, el, find, select } from "openteam/dom.js";
import { argmax } from "openteam/numbers.js";
import { episode, frames, nameOf, roleOf, shownFrame, state, trueFrame, update } from "openteam/state.js";

const TOOLS = { select: "Select", remove: "Remove", add: "Add", move: "Move" };
const HINTS = {
  select: "Click an agent to select it.",
  remove: "Click an agent to take it out.",
  add: "Click a free place to put somebody there; or arrow keys and Enter in the picture.",
  move: "Drag an agent to another place; or select it and use arrow keys in the picture.",
};

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export class WhatIf {
  // ask(message) reaches the server; it is null in a recording, where only removals were computed.
  constructor(world, { ask, opened, fail }) {
    [this.world, this.ask, this.opened, this.fail] = [world, ask, opened, fail];
    this.type = 0;
    this.role = null;
    this.count = 0;
    const tools = Object.keys(TOOLS).filter((tool) => ask || tool === "select" || tool === "remove");
    this.buttons = tools.map((tool) => button(TOOLS[tool], () => [world.cursor] = [null, update({ tool })], { "data-tool": tool }));
    this.kinds = el("span", { class: "kinds" }, this.selects());
    this.hint = el("span", { class: "hint" });
    this.list = el("span", { id: "changes" });
    this.onward = ask && button("Go on from here", () => this.branch(), { id: "branch", class: "main" });
    this.undo = button("Undo", () => this.set([]), { id: "undo" });
    find("tools").replaceChildren(el("div", { class: "row", id: "whatif" }, el("b", { text: "What if?" }), this.buttons, this.kinds, this.hint),
      el("div", { class: "row", id: "changed" }, this.list, this.onward, this.undo));
    this.listen(world.canvas);
  }

  selects() {
    const { types, roles } = state.stage;
    const others = [...new Set(roles.slice(1))];
    [this.role] = others;
    return [
      select("type", types.map(({ name }, number) => [String(number), name]), "0", (type) => (this.type = Number(type))),
      others.length > 1 && select("as", others.map((role) => [role, role]), this.role, (role) => (this.role = role)),
    ].filter(Boolean);
  }

  listen(canvas) {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.drop(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  press(event) {
    const frame = shownFrame();
    if (!frame?.why && state.tool !== "select") return;
    const at = this.world.place(event);
    const agent = this.world.agentAt(frame, at);
    if (state.tool === "add") this.change({ add: this.type, role: this.role, at });
    else if (agent && state.tool === "remove") this.remove(agent.slot);
    else if (agent && state.tool === "move") this.world.dragged = { slot: agent.slot, at };
    if (agent && state.tool !== "add") update({ selected: state.tool === "remove" ? 0 : agent.slot });
  }

  drag(event) {
    if (!this.world.dragged) return;
    this.world.dragged.at = this.world.place(event);
    update({});
  }

  drop(event) {
    if (!this.world.dragged) return;
    const { slot } = this.world.dragged;
    this.world.dragged = null;
    this.change({ move: slot, at: this.world.place(event) });
  }

  // With the keyboard: Tab to the picture, then Delete removes whoever is selected, digits select, arrows move or aim.
  key(event) {
    const by = ARROWS[event.key];
    if (by && ["add", "move"].includes(state.tool) && shownFrame()?.why) this.steer(by, event);
    if (event.key === "Enter" && state.tool === "add" && this.world.cursor) this.change({ add: this.type, role: this.role, at: this.world.cursor });
    if (event.key === "Delete" && state.selected > 0) this.remove(state.selected);
    const slot = Number(event.key);
    if (state.mode !== "play" && Number.isInteger(slot) && shownFrame()?.present.includes(slot)) update({ selected: slot });
  }

  // One cell further on a grid, a tenth of a length in an arena.
  steer(by, event) {
    event.preventDefault();
    event.stopPropagation();
    const { ground } = state.stage;
    const length = ground.kind === "grid" ? 1 : 0.1;
    const selected = shownFrame().scene.agents.find((agent) => agent.slot === state.selected);
    const from = state.tool === "move" ? selected?.at : this.world.cursor ?? [ground.width / 2, ground.height / 2].map((half) => (length === 1 ? Math.floor(half) + 0.5 : half));
    if (!from) return;
    const inside = (value, size) => Math.max(length / 2, Math.min(size - length / 2, value));
    const at = [inside(from[0] + by[0] * length, ground.width), inside(from[1] + by[1] * length, ground.height)];
    if (state.tool === "move") this.change({ move: state.selected, at });
    else [this.world.cursor] = [at, update({})];
  }

  remove(slot) {
    if (slot === 0) this.fail("The learner cannot be removed: its values are what is asked for.");
    else if (this.ask) this.change({ remove: slot });
    else this.set([{ remove: slot }]);
  }

  setAction(slot, action) {
    const others = state.changes.filter((change) => change.set !== slot);
    const same = state.changes.length !== others.length && state.changes.some((change) => change.set === slot && change.action === action);
    this.set(same ? others : [...others, { set: slot, action }]);
  }

  change(change) {
    this.set([...state.changes.filter((old) => !("move" in change) || old.move !== change.move), change]);
  }

  // Questions may overtake each other; only the last one counts.
  async set(changes) {
    const number = ++this.count;
    if (!changes.length) return update({ changes, asked: null });
    update({ playing: false });
    if (!this.ask) return update({ changes, asked: this.recordedAnswer(changes) });
    try {
      const begun = performance.now();
      const { asked } = await this.ask({ do: "ask", episode: episode().id, frame: state.at, changes });
      if (number !== this.count) return null;
      this.list.dataset.milliseconds = Math.round(performance.now() - begun);
      return update({ changes, asked });
    } catch (error) {
      return this.fail(error.message);
    }
  }

  recordedAnswer([{ remove }]) {
    const frame = trueFrame();
    const values = frame.without?.[remove];
    const action = argmax(values);
    const why = { ...frame.why, [frame.why.values ? "values" : "probabilities"]: values, action };
    for (const part of ["singular_share", "pairwise_share", "pair_means", "predicted", "type_vectors", "belief"]) delete why[part];
    const scene = { ...frame.scene, agents: frame.scene.agents.filter((agent) => agent.slot !== remove) };
    return { ...frame, scene, why, actions: [action, ...frame.actions.slice(1)], present: frame.present.filter((slot) => slot !== remove) };
  }

  async branch() {
    try {
      const earlier = frames().slice(0, state.at);
      this.opened(await this.ask({ do: "branch", episode: episode().id, frame: state.at, changes: state.changes }), earlier);
      this.world.cursor = null;
    } catch (error) {
      this.fail(error.message);
    }
  }

  draw() {
    for (const tool of this.buttons) tool.setAttribute("aria-pressed", String(tool.dataset.tool === state.tool));
    this.world.canvas.style.touchAction = state.tool === "move" ? "none" : "";
    this.kinds.hidden = state.tool !== "add";
    this.hint.textContent = HINTS[state.tool];
    const kept = this.ask ? "" : " A recording keeps only the values.";
    this.list.textContent = state.changes.length ? `Now: ${state.changes.map(words).join("; ")}.${kept}` : "";
    find("changed").hidden = !state.changes.length;
  }
}

function words(change) {
  if ("remove" in change) return `without ${roleOf(change.remove)} ${nameOf(change.remove)}`;
  if ("add" in change) return `with one more ${change.role} of type ${state.stage.types[change.add].name}`;
  if ("move" in change) return `${nameOf(change.move)} elsewhere`;
  return `${nameOf(change.set)} does “${state.stage.actions[change.action]}” next`;
}

// The picture of a frame: ground, fog, things, agents, and what the learner thinks about them.

import { css, GOLD } from "openteam/colours.js";
import { fitted } from "openteam/dom.js";
import { drawFog, drawGround } from "openteam/ground.js";
import { drawActions, drawArcs, drawGhosts } from "openteam/overlay.js";
import { drawAgent, THINGS } from "openteam/shapes.js";
import { nameOf, state } from "openteam/state.js";

const THING = 0.36; // radius of a thing on a grid, in cells

// Controls fit below the picture; on a phone it stays on the screen while panels go by under it.
const tallest = () => (window.innerWidth > 860 ? Math.max(300, window.innerHeight - 388) : Math.max(260, 0.42 * window.innerHeight));

export class World {
  constructor(canvas, redraw) {
    this.canvas = canvas;
    this.redraw = redraw;
    this.unit = 1;
    this.dragged = null; // an agent on its way, with a place
    this.cursor = null; // where the keyboard would put somebody
  }

  draw(frame, others = {}) {
    const { ground } = state.stage;
    const box = this.canvas.parentElement.getBoundingClientRect();
    const wide = Math.max(120, Math.min(box.width, ((others.tallest ?? tallest()) * ground.width) / ground.height));
    this.unit = wide / ground.width;
    const pen = fitted(this.canvas, wide, ground.height * this.unit);
    const { scene } = frame;
    drawGround(pen, ground, this.unit, scene, this.redraw);
    const bright = this.lit(frame);
    if (frame.sees) drawFog(pen, frame.sees, ground, this.unit);
    for (const thing of scene.things) if (state.truth || bright(thing.at)) this.drawThing(pen, thing, ground, bright(thing.at));
    const agents = this.agents(frame).filter((agent) => state.truth || agent.slot === 0 || bright(agent.at));
    if (state.arcs) drawArcs(pen, frame, agents, this.unit);
    for (const agent of agents.reverse()) this.drawAgent(pen, agent, bright(agent.at), others.seat);
    if (frame.why?.belief) drawGhosts(pen, frame.why.belief.ghosts, this.unit);
    drawActions(pen, frame, agents, this.unit);
    if (this.cursor) this.ring(pen, { at: this.cursor, radius: ground.kind === "grid" ? 0.36 : 0.05 }, GOLD, [3, 3]);
  }

  // Whether the learner sees a place.
  lit(frame) {
    if (!frame.sees) return () => true;
    const { ground } = state.stage;
    const [rows, columns] = [frame.sees.length, frame.sees[0].length];
    return ([x, y]) =>
      frame.sees[Math.min(rows - 1, Math.floor((y / ground.height) * rows))][
        Math.min(columns - 1, Math.floor((x / ground.width) * columns))
      ] === "1";
  }

  // Those who share a cell stand side by side.
  agents(frame) {
    const list = frame.scene.agents.map((agent) => (agent.slot === this.dragged?.slot ? { ...agent, at: this.dragged.at } : agent));
    const here = new Map();
    for (const agent of list) here.set(String(agent.at), [...(here.get(String(agent.at)) ?? []), agent]);
    return list.map((agent) => {
      const sharing = here.get(String(agent.at));
      if (sharing.length === 1) return agent;
      const angle = Math.PI + (2 * Math.PI * sharing.indexOf(agent)) / sharing.length;
      const [x, y] = agent.at;
      return { ...agent, at: [x + 0.24 * Math.cos(angle), y + 0.24 * Math.sin(angle)], radius: agent.radius * 0.62 };
    });
  }

  at(pen, [x, y], radius, draw) {
    pen.save();
    pen.translate(x * this.unit, y * this.unit);
    pen.scale(radius * this.unit, radius * this.unit);
    draw();
    pen.restore();
  }

  drawThing(pen, thing, ground, bright) {
    const radius = ground.kind === "arena" ? 0.05 : THING;
    pen.globalAlpha = bright ? 1 : 0.45;
    this.at(pen, thing.at, radius, () => THINGS[thing.kind](pen, thing, ground, radius));
    pen.globalAlpha = 1;
  }

  drawAgent(pen, agent, bright, seat) {
    pen.globalAlpha = bright || agent.slot === 0 ? 1 : 0.45;
    if (agent.slot === state.selected) this.ring(pen, agent, css("ink"), []);
    if (agent.slot === seat) this.ring(pen, agent, GOLD, [4, 3]);
    if (state.stage.ground.kind !== "picture") {
      this.at(pen, agent.at, agent.radius, () => drawAgent(pen, agent, nameOf(agent.slot)));
    }
    pen.globalAlpha = 1;
  }

  ring(pen, agent, colour, dashes) {
    const [x, y] = agent.at;
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.setLineDash(dashes);
    pen.beginPath();
    pen.arc(x * this.unit, y * this.unit, agent.radius * this.unit * (agent.slot === 0 ? 1.6 : 1.3), 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  }

  // The place of a pointer on the ground, and who is there.
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / this.unit, (event.clientY - box.top) / this.unit];
  }

  agentAt(frame, [x, y]) {
    const reach = (agent) => Math.hypot(agent.at[0] - x, agent.at[1] - y) / agent.radius;
    const near = this.agents(frame).filter((agent) => reach(agent) < 1.8);
    return near.sort((one, other) => reach(one) - reach(other))[0] ?? null;
  }
}

// Thoughts in the picture: what pairs are worth together, where hidden agents are believed to be, what is done next.

import { css, divergingLine, GHOST, signOf } from "openteam/colours.js";
import { pairScale } from "openteam/numbers.js";
import { isTurn, state } from "openteam/state.js";

// An arc between two agents, as wide as their pairwise utility is large: orange if it is positive, blue and dashed if not.
export function drawArcs(pen, frame, agents, unit) {
  const means = frame.why?.pair_means;
  if (!means) return;
  const most = pairScale(frame.why);
  for (const [number, one] of agents.entries()) {
    for (const other of agents.slice(number + 1)) {
      const strength = means[one.slot][other.slot] / most;
      if (Math.abs(strength) < 0.05) continue;
      const [[x, y], [u, v]] = [one.at, other.at];
      const bend = 0.18;
      pen.strokeStyle = divergingLine(strength);
      pen.lineWidth = 1 + 5 * Math.abs(strength);
      pen.setLineDash(strength < 0 ? [6, 4] : []);
      pen.beginPath();
      pen.moveTo(x * unit, y * unit);
      pen.quadraticCurveTo(((x + u) / 2 + bend * (v - y)) * unit, ((y + v) / 2 - bend * (u - x)) * unit, u * unit, v * unit);
      pen.stroke();
    }
  }
  pen.setLineDash([]);
}

// A dashed ring wherever a teammate is believed to be, as opaque as it is likely; the likeliest has the teammate's letter.
export function drawGhosts(pen, ghosts, unit) {
  pen.strokeStyle = GHOST;
  pen.lineWidth = 2.5;
  const likeliest = new Map();
  for (const ghost of ghosts) {
    const [slot, x, y, likely] = ghost;
    if (likely > (likeliest.get(slot)?.[3] ?? 0)) likeliest.set(slot, ghost);
    pen.globalAlpha = Math.min(1, 0.12 + 0.88 * likely);
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.arc(x * unit, y * unit, 0.45 * unit, 0, 2 * Math.PI);
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  for (const [slot, x, y] of likeliest.values()) {
    const angle = (-slot * Math.PI) / 2 + Math.PI / 4; // another corner for each, for some are believed to be in one place
    letter(pen, `${state.stage.names[slot]}?`, (x + 0.56 * Math.cos(angle)) * unit, (y + 0.56 * Math.sin(angle)) * unit, unit);
  }
}

// Readable on whatever is below it.
function letter(pen, text, x, y, unit) {
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = `700 ${Math.max(12, 0.36 * unit)}px system-ui, sans-serif`;
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = css("paper");
  pen.strokeText(text, x, y);
  pen.fillStyle = css("ghost");
  pen.fillText(text, x, y);
}

// A small sign of everybody's next action, beside it.
export function drawActions(pen, frame, agents, unit) {
  if (!frame.actions || isTurn(frame)) return;
  const ground = state.stage.ground;
  for (const agent of agents) {
    const action = state.stage.actions[frame.actions[agent.slot]];
    const sign = signOf(action);
    const size = Math.max(10, Math.min(16, 0.34 * unit * (ground.kind === "arena" ? 0.3 : 1)));
    const reach = agent.radius * unit + 0.55 * size;
    const x = Math.max(0.6 * size, agent.at[0] * unit - reach * 0.72);
    const y = Math.min(ground.height * unit - 0.6 * size, agent.at[1] * unit + reach * 0.78);
    pen.font = `700 ${sign.length > 1 ? 0.72 * size : size}px system-ui, sans-serif`;
    const wide = Math.max(size * 1.05, pen.measureText(sign).width + 0.5 * size);
    pen.fillStyle = css("paper");
    pen.strokeStyle = css("ink");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.roundRect(x - wide / 2, y - 0.55 * size, wide, 1.1 * size, 0.4 * size);
    pen.fill();
    pen.stroke();
    pen.fillStyle = css("ink");
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(sign, x, y + 0.5);
  }
}

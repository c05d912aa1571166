// Agents and things, each around (0, 0) with radius 1.

import { colourOf, css, GOLD, inkOn } from "openteam/colours.js";

const disc = (pen, x, y, radius) => {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
};

function write(pen, text, size, colour) {
  pen.save();
  pen.scale(0.01, 0.01); // fonts have no sizes below a pixel
  pen.fillStyle = colour;
  pen.font = `600 ${100 * size}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, 0, 6);
  pen.restore();
}

function apple(pen, thing) {
  pen.fillStyle = "#b5382f";
  for (const side of [-0.32, 0.32]) {
    disc(pen, side, 0, 0.66);
    pen.fill();
  }
  disc(pen, 0, 0.2, 0.72);
  pen.fill();
  pen.strokeStyle = "#70503a";
  pen.lineWidth = 0.13;
  pen.beginPath();
  pen.moveTo(0, -0.5);
  pen.lineTo(0.1, -1);
  pen.stroke();
  pen.fillStyle = "#5d9c48";
  pen.beginPath();
  pen.ellipse(0.42, -0.82, 0.34, 0.15, -0.4, 0, 2 * Math.PI);
  pen.fill();
  write(pen, thing.text, 0.95, "#ffffff");
}

function prey(pen, thing) {
  pen.rotate(thing.turn);
  const [fur, belly] = thing.caught ? ["#a39a8c", "#d8d2c8"] : ["#b56a1e", "#f3d9b8"];
  for (const side of [-0.4, 0.4]) {
    for (const [wide, long, colour] of [[0.24, 0.55, fur], [0.1, 0.36, belly]]) {
      pen.fillStyle = colour;
      pen.beginPath();
      pen.ellipse(side, -0.75, wide, long, 0, 0, 2 * Math.PI);
      pen.fill();
    }
  }
  pen.fillStyle = fur;
  disc(pen, 0, 0.15, 0.8);
  pen.fill();
  pen.fillStyle = belly;
  disc(pen, 0, 0.5, 0.32);
  pen.fill();
}

function target(pen) {
  for (const [radius, colour] of [[1.25, "#c8561f"], [0.95, "#ffffff"], [0.62, "#c8561f"], [0.25, "#ffffff"]]) {
    pen.fillStyle = colour;
    disc(pen, 0, 0, radius);
    pen.fill();
  }
}

function fallen(pen, thing) {
  pen.strokeStyle = colourOf(1, thing.role);
  pen.globalAlpha = 0.6;
  pen.lineWidth = 0.35;
  pen.beginPath();
  for (const side of [-0.7, 0.7]) {
    pen.moveTo(-0.7, side);
    pen.lineTo(0.7, -side);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function shot(pen, thing, ground, radius) {
  const [near, far] = [ground.muzzle / radius, (ground.muzzle + ground.depth) / radius];
  const wide = (ground.depth / radius) * Math.tan(ground.half_angle);
  pen.rotate(thing.turn);
  pen.globalAlpha = 0.25;
  pen.fillStyle = colourOf(1, thing.role);
  pen.beginPath();
  pen.moveTo(near, 0);
  pen.lineTo(far, -wide);
  pen.lineTo(far, wide);
  pen.fill();
  pen.globalAlpha = 1;
}

export const THINGS = { apple, prey, target, fallen, shot };

// An attacker is a square, everybody else a disc; the learner has a golden ring and a crown or, with a heading, no crown.
export function drawAgent(pen, agent, label) {
  const colour = colourOf(agent.slot, agent.role, agent.colour);
  if (agent.slot === 0) {
    pen.fillStyle = GOLD;
    if (agent.turn === undefined) crown(pen);
    disc(pen, 0, 0, agent.turn === undefined ? 1.12 : 1.45);
    pen.fill();
  }
  pen.fillStyle = colour;
  if (agent.role === "attacker") {
    pen.save();
    pen.rotate(agent.turn ?? 0);
    pen.beginPath();
    pen.rect(-0.95, -0.95, 1.9, 1.9);
    pen.fill();
    pen.restore();
  } else {
    disc(pen, 0, 0, 1);
    pen.fill();
  }
  if (agent.turn !== undefined) heading(pen, agent.turn, colour);
  write(pen, label, agent.turn === undefined ? 1.05 : 1.25, inkOn(colour));
  if (agent.text) badge(pen, agent.text);
}

function crown(pen) {
  pen.beginPath();
  const points = [[-0.6, -0.7], [-0.72, -1.4], [-0.3, -1.08], [0, -1.5], [0.3, -1.08], [0.72, -1.4], [0.6, -0.7]];
  for (const point of points) pen.lineTo(...point);
  pen.fill();
}

function heading(pen, turn, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 0.35;
  pen.beginPath();
  pen.moveTo(0.9 * Math.cos(turn), 0.9 * Math.sin(turn));
  pen.lineTo(1.9 * Math.cos(turn), 1.9 * Math.sin(turn));
  pen.stroke();
}

function badge(pen, text) {
  pen.save();
  pen.translate(0.8, 0.75);
  pen.fillStyle = css("paper");
  pen.strokeStyle = css("ink");
  pen.lineWidth = 0.1;
  disc(pen, 0, 0, 0.48);
  pen.fill();
  pen.stroke();
  write(pen, text, 0.72, css("ink"));
  pen.restore();
}

// The episode as a strip: a lane for everybody who is present, rewards above, wrong predictions below.

import { colourOf, css, GOLD } from "openteam/colours.js";
import { fitted } from "openteam/dom.js";
import { shownSlots, wrong } from "openteam/events.js";
import { episode, frames, nameOf, roleOf, state } from "openteam/state.js";

const [TOP, MARKS, AXIS, LEFT] = [12, 10, 13, 18];

// Steps that the strip has room for: all that there can be, until it is known how many there are.
export const span = () => Math.max(1, frames().at(-1)?.over ? frames().length - 1 : state.stage.horizon);

export function drawTimeline(canvas) {
  const list = frames();
  const slots = state.stage.slots;
  const lane = Math.max(4, Math.min(10, 60 / slots));
  const wide = canvas.parentElement.clientWidth;
  const high = TOP + slots * lane + MARKS;
  const pen = fitted(canvas, wide, high + AXIS);
  const x = (step) => LEFT + (step / span()) * (wide - LEFT - 6);
  pen.fillStyle = css("field");
  pen.fillRect(LEFT, TOP, wide - LEFT, slots * lane);
  for (let slot = 0; slot < slots; slot++) drawLane(pen, list, slot, TOP + slot * lane, lane, x);
  drawMarks(pen, list, high, x);
  drawAxis(pen, high, x);
  pen.fillStyle = css("ink");
  pen.fillRect(x(state.at) - 1, 0, 2, high);
}

function drawLane(pen, list, slot, y, lane, x) {
  const colour = slot === 0 ? GOLD : colourOf(slot, roleOf(slot));
  pen.fillStyle = css("ink");
  pen.font = `600 ${Math.min(10, lane + 2)}px system-ui, sans-serif`;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillText(nameOf(slot), LEFT - 4, y + lane / 2);
  const edge = (step) => Math.round(x(step)); // whole pixels, so that steps do not show as stripes
  list.forEach((frame, step) => {
    if (!shownSlots(frame, state.truth).includes(slot)) return;
    const before = list[step - 1];
    const fresh = step > 0 && (!before.present.includes(slot) || before.visits[slot] !== frame.visits[slot]);
    pen.fillStyle = colour;
    pen.fillRect(edge(step), y + 1, edge(step + 1) - edge(step), lane - 2);
    if (fresh) {
      pen.fillStyle = css("paper");
      pen.fillRect(x(step) - 1, y, 3, lane);
    }
  });
}

// Numbers of steps, and where an episode was changed.
function drawAxis(pen, high, x) {
  const every = [1, 2, 5, 10, 20, 25, 50].find((size) => span() / size <= 8) ?? 100;
  pen.fillStyle = css("quiet");
  pen.font = "10px system-ui, sans-serif";
  pen.textBaseline = "top";
  for (let step = 0; step <= span(); step += every) {
    pen.textAlign = step ? (span() - step < every / 4 ? "right" : "center") : "left";
    pen.fillText(step ? String(step) : "step 0", x(step) - (step ? 0 : 3), high + 2);
  }
  const { origin } = state.mode === "compare" ? {} : episode() ?? {};
  if (origin === null || origin === undefined) return;
  pen.strokeStyle = css("ink");
  pen.lineWidth = 1.5;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.moveTo(x(origin), 0);
  pen.lineTo(x(origin), high);
  pen.stroke();
  pen.setLineDash([]);
}

function drawMarks(pen, list, high, x) {
  pen.textAlign = "center";
  list.forEach((frame, step) => {
    const reward = step ? frame.reward[0] : 0;
    if (reward) {
      pen.fillStyle = reward > 0 ? css("gain") : css("loss");
      const [tip, base] = reward > 0 ? [1, 9] : [9, 1];
      pen.beginPath();
      pen.moveTo(x(step), tip);
      pen.lineTo(x(step) - 4, base);
      pen.lineTo(x(step) + 4, base);
      pen.fill();
    }
    if (wrong(frame).length) {
      pen.fillStyle = css("quiet");
      pen.fillRect(x(step), high - 7, Math.max(1.5, (x(1) - x(0)) * 0.5), 6);
    }
  });
  for (const step of state.mode === "compare" ? state.compared?.differs ?? [] : []) {
    pen.fillStyle = GOLD;
    pen.strokeStyle = css("ink");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.arc(x(step), high - 5, 3.5, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

export function stepAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - 6);
  return Math.round(share * span());
}

// What happens in an episode: arrivals, departures, rewards, and predictions that turned out wrong.

import { argmax } from "openteam/numbers.js";
import { isTurn, state } from "openteam/state.js";

export function joins(before, frame) {
  if (!before) return [];
  return frame.present.filter((slot) => !before.present.includes(slot) || frame.visits[slot] !== before.visits[slot]);
}

export function leaves(before, frame) {
  if (!before) return [];
  return before.present.filter((slot) => !frame.present.includes(slot) || frame.visits[slot] !== before.visits[slot]);
}

// Others that the learner predicts: those who are there, seen or believed in, each with what it then did. With the truth
// hidden only those in sight, or else the page would tell what the others did.
export function predictions(frame) {
  const predicted = frame.why?.predicted;
  if (!predicted) return [];
  const known = frame.why.belief && state.truth ? frame.present : frame.visible;
  return known
    .filter((slot) => slot > 0 && frame.present.includes(slot))
    .map((slot) => ({ slot, probabilities: predicted[slot], did: isTurn(frame) ? null : frame.actions[slot], best: argmax(predicted[slot]) }));
}

export const wrong = (frame) => predictions(frame).filter(({ did, best }) => did !== null && did !== best);

// Those whom a page may show: with the truth hidden only whom the learner sees, which is told until the end.
export const shownSlots = (frame, truth) => (truth || !frame.visible ? frame.present : frame.present.filter((slot) => slot === 0 || frame.visible.includes(slot)));

// Since which step whoever is in a slot has been there.
export function since(frames, at, slot) {
  let step = at;
  while (step > 0 && frames[step - 1].present.includes(slot) && frames[step - 1].visits[slot] === frames[step].visits[slot]) step--;
  return frames[step].step;
}

// The running score of the agent model: how often its most likely action came true, and how likely it made the truth.
export function predictionScore(frames, at, slot = null) {
  let [count, right, likely] = [0, 0, 0];
  for (const frame of frames.slice(0, at + 1)) {
    for (const one of predictions(frame)) {
      if (one.did === null) continue;
      if (slot !== null && (one.slot !== slot || frame.visits[slot] !== frames[at].visits[slot])) continue;
      count++;
      right += one.did === one.best;
      likely += one.probabilities[one.did];
    }
  }
  return { count, right, likely: count ? likely / count : null };
}

const KINDS = {
  arrival: (before, frame) => joins(before, frame).length > 0,
  departure: (before, frame) => leaves(before, frame).length > 0,
  reward: (before, frame) => before && frame.reward[0] !== 0,
  "wrong prediction": (before, frame) => wrong(frame).length > 0,
};
export const kinds = Object.keys(KINDS);

export function next(frames, at, kind) {
  for (let step = at + 1; step < frames.length; step++) if (KINDS[kind](frames[step - 1], frames[step])) return step;
  return null;
}

// The page: finds its frames, makes its parts, and draws them whenever something changes.

import { BeliefPanel } from "openteam/belief.js";
import { Compare } from "openteam/compare.js";
import { button, checkbox, el, find, select } from "openteam/dom.js";
import { shownSlots } from "openteam/events.js";
import { Pairs } from "openteam/pairs.js";
import { Play } from "openteam/play.js";
import { Predictions } from "openteam/predictions.js";
import { recorded, Server } from "openteam/source.js";
import { question } from "openteam/panel.js";
import { episode, frames, go, isTurn, nameOf, onChange, shownFrame, state, trueFrame, update } from "openteam/state.js";
import { Team } from "openteam/team.js";
import { startTheme } from "openteam/theme.js";
import { Transport } from "openteam/transport.js";
import { Types } from "openteam/types.js";
import { Values } from "openteam/values.js";
import { WhatIf } from "openteam/whatif.js";
import { World } from "openteam/world.js";

const SCHEMA = 1;
const HELP =
  "Open ad hoc teamwork: the learner i acts in a team −i that it did not train with and that changes without notice. The picture is the " +
  "state s; signs are the joint action a. Arcs are the pairwise utilities Qⱼₖ, rings the belief b.";
const CHUNK = 32; // frames that are asked for at once
const STATES = {
  starting: "Starting…",
  loading: "Loading the task and the policy…",
  compiling: "Compiling… the first time takes some seconds; the next time it is remembered.",
};
let server = null;
let parts = {};

const fail = (text) => {
  find("message").textContent = text;
  find("message").hidden = !text;
  if (text) setTimeout(() => (find("message").hidden = true), 6000);
};

// Keep an answer's frames where they belong.
function added(one, answer) {
  answer.frames.forEach((frame, number) => (one.frames[answer.first + number] = frame));
  update({});
}

// Another episode; one that goes on from another one has its earlier frames.
function opened(answer, earlier = []) {
  const one = { ...answer.opened, frames: earlier };
  added(one, answer);
  const episodes = [...state.episodes, one];
  update({ episodes, current: episodes.length - 1, at: answer.first, changes: [], asked: null, score: null });
}

// More frames of the current episode, if they are not on their way already; not of one that is over or that a person plays.
async function more() {
  const one = episode();
  if (!server || state.mode === "compare" || !one || one.frames.at(-1).over || (one.seat ?? null) !== null) return false;
  one.coming ??= server
    .ask({ do: "more", episode: one.id, count: CHUNK }, (part) => part.frames && added(one, part))
    .catch((error) => fail(error.message))
    .finally(() => (one.coming = null));
  await one.coming;
  return true;
}

async function fresh() {
  const seed = 1 + Math.max(-1, ...state.episodes.filter((one) => one.seed < 1e5).map((one) => one.seed));
  opened(await server.ask({ do: "new", seed }));
  if (state.mode === "play") changeMode("watch");
  more();
}

function changeMode(mode) {
  update({ mode, playing: false, changes: [], asked: null, at: 0 });
  if (mode === "compare" && !state.compared) parts.compare?.start(0);
  if (mode === "watch" && (episode()?.seat ?? null) !== null) {
    const watched = state.episodes.findLastIndex((one) => (one.seat ?? null) === null);
    if (watched >= 0) update({ current: watched });
  }
}

function build(stage) {
  if (stage.schema !== SCHEMA) return fail(`This page reads recordings of schema ${SCHEMA}; this one has ${stage.schema}. Open it with the openteam that wrote it.`);
  Object.assign(state, { stage, live: Boolean(server) });
  const ask = server && ((message, part) => server.ask(message, part));
  const redraw = () => update({});
  const world = new World(find("world"), redraw);
  const whatif = new WhatIf(world, { ask, opened, fail });
  parts = { world, whatif, transport: new Transport({ more, fresh: server && fresh, say: fail }) };
  if (server) parts.play = new Play({ ask, opened, added, fail });
  if (server) parts.compare = new Compare({ ask, fail, redraw });
  parts.panels = [new Values(), new Predictions(server && ((slot, action) => whatif.setAction(slot, action))), new Pairs(), new Types(), new BeliefPanel(), new Team()];
  header(stage);
  find("legend").replaceChildren(el("p", { class: "caption", text: legend(stage) }), question("the picture", HELP));
  find("status").hidden = true;
  onChange(draw);
  new ResizeObserver(redraw).observe(document.body);
  return null;
}

// What the picture shows.
function legend(stage) {
  const seen = stage.partial ? " Bright: what the learner sees." : "";
  return `${stage.legend ?? ""} Signs: next actions.${seen}`.trim();
}

function header(stage) {
  document.title = `${stage.player} on ${stage.task}`;
  find("title").textContent = document.title;
  const choose = (name, value) => {
    const address = new URL(location.href);
    address.searchParams.set(name, value);
    location.href = address.href;
  };
  if (server) {
    find("choices").replaceChildren(
      ...[stage.splits.length > 1 && select("split", stage.splits.map((name) => [name, name]), stage.split, (name) => choose("split", name), "The condition: which teammates there are, how many, and how they come and go. It learned on train."),
        stage.steps.length > 1 && select("checkpoint", stage.steps.map((step) => [String(step), step.toLocaleString("en")]), String(stage.step), (step) => choose("step", step)),
      ].filter(Boolean));
    const modes = { watch: "Watch", play: "Play along", compare: "Compare" };
    find("modes").replaceChildren(...Object.entries(modes).map(([mode, text]) => button(text, () => changeMode(mode), { "data-mode": mode })));
    if (stage.gallery) find("choices").prepend(el("a", { href: "gallery", text: "← all runs" }));
  } else find("choices").textContent = `${stage.split}, recorded`;
  find("switches").replaceChildren(
    el("span", { text: "Show:" }),
    checkbox("true types", state.types, (types) => update({ types }), "Show of which type everybody really is; the learner does not know"),
    ...(stage.partial ? [checkbox("what is out of sight", state.truth, (truth) => update({ truth }), "Show what the learner cannot see")] : []),
    checkbox("arcs of pairs", state.arcs, (arcs) => update({ arcs }), "Show in the picture what pairs are worth together"),
    startTheme(() => update({})));
}

function draw() {
  const frame = shownFrame();
  document.body.dataset.mode = state.mode;
  document.body.dataset.at = state.at;
  document.body.dataset.frames = frames().length;
  for (const mode of find("modes").children) mode.setAttribute("aria-pressed", String(mode.dataset.mode === state.mode));
  if (!frame) return;
  parts.world.draw(frame, { seat: episode()?.seat, tallest: state.mode === "compare" ? 430 : undefined });
  parts.transport.draw();
  parts.whatif.draw();
  parts.play?.draw();
  const decided = frame.over ? frames()[state.at - 1] ?? frame : frame; // in the end nobody decides; the last decision stays
  for (const panel of parts.panels) panel.draw(panel instanceof Team ? frame : decided, state.asked && trueFrame());
  find("panels").classList.toggle("past", decided !== frame);
  parts.compare?.draw();
  find("now").textContent = sentence(frame);
}

function sentence(frame) {
  const reward = frame.reward[0] ? ` (${frame.reward[0] > 0 ? "+" : ""}${Number(frame.reward[0].toPrecision(3))} now)` : "";
  const next = isTurn(frame) ? " Your turn." : frame.why ? ` The learner ${nameOf(0)} chooses “${state.stage.actions[frame.actions[0]]}”.` : "";
  const others = shownSlots(frame, state.truth).length - 1;
  const over = frame.over ? " The episode is over; pale panels show the last decision." : "";
  return `Step ${frame.step} of at most ${state.stage.horizon}. Return so far ${Number(frame.returns[0].toPrecision(4))}${reward}. ${others} other${others === 1 ? "" : "s"} ${state.truth ? "here" : "in sight"}.${next}${over}`;
}

document.addEventListener("keydown", (event) => {
  if (["INPUT", "SELECT"].includes(event.target.tagName) || state.mode === "play" || !state.stage) return;
  if (event.key === " " && ["BUTTON", "SUMMARY", "A"].includes(event.target.tagName)) return;
  if (event.key === " ") update({ playing: !state.playing });
  else if (event.key === "ArrowRight") parts.transport.pauseAt(state.at + 1);
  else if (event.key === "ArrowLeft") go(state.at - 1);
  else return;
  event.preventDefault();
});

const recording = find("recording");
if (recording) {
  const { stage, episodes } = await recorded(recording);
  build(stage);
  update({ episodes });
} else {
  server = new Server({
    onState: (name) => (find("status").textContent = STATES[name] ?? name),
    onLost: (reason) => [find("status").textContent, find("status").hidden] = [reason, false],
    onStage: async (stage) => {
      build(stage);
      await fresh();
      document.body.dataset.ready = "yes";
    },
  });
}

// What agents stand on: a grid, an arena with a fort, or a world's own picture.

import { css } from "openteam/colours.js";

const pictures = new Map();

export function drawGround(pen, ground, unit, scene, redraw) {
  if (ground.kind === "grid") grid(pen, ground, unit);
  else if (ground.kind === "arena") arena(pen, ground, unit);
  else picture(pen, ground, unit, scene, redraw);
}

function grid(pen, { width, height }, unit) {
  pen.fillStyle = css("ground");
  pen.fillRect(0, 0, width * unit, height * unit);
  pen.strokeStyle = css("lines");
  pen.lineWidth = 1;
  pen.beginPath();
  for (let at = 0; at <= width; at++) {
    const line = Math.round(at * unit) + (at === width ? -0.5 : 0.5);
    pen.moveTo(line, 0);
    pen.lineTo(line, height * unit);
    pen.moveTo(0, line);
    pen.lineTo(width * unit, line);
  }
  pen.stroke();
}

// Its margin is for bodies at the walls.
function arena(pen, { width, height, fort, margin = 0 }, unit) {
  const edge = margin * unit;
  const inside = [edge, edge, width * unit - 2 * edge, height * unit - 2 * edge];
  pen.fillStyle = css("field");
  pen.fillRect(0, 0, width * unit, height * unit);
  pen.fillStyle = css("ground");
  pen.fillRect(...inside);
  pen.fillStyle = css("fort");
  pen.strokeStyle = "#6f93bd";
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc((width / 2) * unit, edge, fort * unit, 0, Math.PI);
  pen.fill();
  pen.stroke();
  pen.fillStyle = css("ink");
  pen.font = `600 ${Math.max(10, 0.06 * unit)}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  pen.fillText("fort", (width / 2) * unit, edge + 4);
  pen.strokeStyle = css("wall");
  pen.lineWidth = 3;
  pen.strokeRect(...inside);
}

function picture(pen, { width, height }, unit, scene, redraw) {
  let image = pictures.get(scene.picture);
  if (!image) {
    image = new Image();
    image.onload = redraw;
    image.src = scene.picture;
    pictures.set(scene.picture, image);
    if (pictures.size > 64) pictures.delete(pictures.keys().next().value);
  }
  if (!image.complete || !image.naturalWidth) return;
  const scale = Math.min((width * unit) / image.naturalWidth, (height * unit) / image.naturalHeight);
  pen.imageSmoothingEnabled = scale < 1;
  pen.drawImage(image, 0, 0, image.naturalWidth * scale, image.naturalHeight * scale);
}

// Fog over what the learner does not see.
export function drawFog(pen, sees, ground, unit) {
  const [rows, columns] = [sees.length, sees[0].length];
  const [high, wide] = [(ground.height * unit) / rows, (ground.width * unit) / columns];
  pen.fillStyle = css("fog");
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (sees[row][column] === "0") pen.fillRect(column * wide, row * high, wide + 0.5, high + 0.5);
    }
  }
}

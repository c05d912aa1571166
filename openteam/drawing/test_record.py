"""Recordings: files that can be opened, with everything in them, and the hidden dimmed."""

import dataclasses
import re
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import openteam
from openteam.commands.record import Record, caption_of, find_policy
from openteam.drawing.annotations import CAPTION, LINE
from openteam.drawing.record import (
    FOG,
    GAP,
    SHEET_WIDTH,
    THICKNESS,
    Recording,
    dim,
    draw_frames,
    find_ffmpeg,
    record_all,
    write_recordings,
)
from openteam.errors import UserError
from openteam.teammates import Uniform
from openteam.views import FullView, Window

SHORT = openteam.Task(
    name="short", world=openteam.Foraging(), openness=openteam.Closed(), pool=openteam.Pool((Uniform(),)), horizon=15
)
PARTIAL = dataclasses.replace(SHORT, view=Window())
FRAMES = 16  # of an episode: this seed's do not end early


@pytest.fixture(scope="module")
def episodes():
    return record_all(openteam.UniformRandom(), SHORT, seed=1, episodes=2)


def test_every_episode_is_another_one_and_the_same_seed_gives_the_same(episodes):
    again = record_all(openteam.UniformRandom(), SHORT, seed=1, episodes=2)
    for episode, same in zip(episodes, again, strict=True):
        assert (episode.states[2].position == same.states[2].position).all()
    assert (episodes[0].states[0].position != episodes[1].states[0].position).any()


def test_the_best_of_several_is_one_of_them(episodes):
    best = openteam.record(openteam.UniformRandom(), SHORT, seed=1, best_of=2)
    assert best.total == max(episode.total for episode in episodes)


def test_an_episode_has_a_state_more_than_steps(episodes):
    assert [len(episode.states) for episode in episodes] == [FRAMES] * 2
    assert [len(episode.rewards) for episode in episodes] == [FRAMES - 1] * 2


def test_less_than_one_episode_is_refused():
    with pytest.raises(UserError, match="at least 1 episode; got 0"):
        record_all(openteam.UniformRandom(), SHORT, episodes=0)


def test_a_gif_has_all_frames_of_all_episodes(episodes, tmp_path):
    write_recordings(tmp_path / "new" / "x.gif", SHORT, episodes)
    with Image.open(tmp_path / "new" / "x.gif") as picture:
        assert picture.n_frames == 2 * FRAMES


def test_an_mp4_has_all_frames_of_all_episodes(episodes, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    write_recordings(tmp_path / "x.mp4", SHORT, episodes)
    words = [find_ffmpeg(), "-i", str(tmp_path / "x.mp4"), "-f", "null", "-"]
    said = subprocess.run(words, capture_output=True, check=True).stderr.decode()
    assert re.findall(r"frame= *(\d+)", said)[-1] == str(2 * FRAMES)


def test_a_film_that_cannot_be_written_is_told_in_one_sentence(episodes, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    (tmp_path / "x.mp4").mkdir()
    with pytest.raises(UserError, match="ffmpeg could not write"):
        write_recordings(tmp_path / "x.mp4", SHORT, episodes)


def test_an_mp4_without_ffmpeg_is_told_in_one_sentence(episodes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"pip install 'openteam\[video\]'"):
        write_recordings(tmp_path / "x.mp4", SHORT, episodes)


def test_a_sheet_shows_every_episode_from_its_first_to_its_last_frame(episodes, tmp_path):
    write_recordings(tmp_path / "x.png", SHORT, episodes)
    frames = [draw_frames(SHORT, episode, width=SHEET_WIDTH, key=False) for episode in episodes]
    width, height = frames[0][0].size
    with Image.open(tmp_path / "x.png") as sheet:
        assert sheet.size == (4 * width + 3 * GAP, 6 * height + 5 * GAP + LINE)  # a line says what marks mean

        def at(row, column):
            left, top = column * (width + GAP), row * (height + GAP)
            return np.asarray(sheet.crop((left, top, left + width, top + height)))

        for number in (0, 1):
            assert (at(3 * number, 0) == np.asarray(frames[number][0])).all()
            assert (at(3 * number + 2, 3) == np.asarray(frames[number][-1])).all()


def test_a_short_episode_is_on_a_sheet_as_a_whole(episodes, tmp_path):
    brief = Recording(episodes[0].states[:3], episodes[0].rewards[:2])
    write_recordings(tmp_path / "x.png", SHORT, [brief])
    width, height = draw_frames(SHORT, brief, width=SHEET_WIDTH)[0].size
    with Image.open(tmp_path / "x.png") as sheet:
        assert sheet.size == (3 * width + 2 * GAP, height)


def test_a_sheet_has_as_many_frames_as_asked_for_but_at_least_two(episodes, tmp_path):
    write_recordings(tmp_path / "x.png", SHORT, episodes[:1], frames=2)
    with Image.open(tmp_path / "x.png") as sheet:
        assert sheet.width == 2 * SHEET_WIDTH + GAP
    with pytest.raises(UserError, match="first and the last frame of an episode; got 1 frames"):
        write_recordings(tmp_path / "x.png", SHORT, episodes, frames=1)


def test_the_first_steps_of_an_episode_are_a_recording_too(episodes):
    start = episodes[0].until(3)
    assert len(start.states) == len(start.type_ids) == 4
    assert (start.rewards == episodes[0].rewards[:3]).all()


def test_another_ending_is_refused(episodes, tmp_path):
    with pytest.raises(UserError, match=r"written as \.gif, \.mp4, \.png; got 'x\.avi'"):
        write_recordings(tmp_path / "x.avi", SHORT, episodes)


def test_a_mask_of_cells_dims_all_pixels_of_the_others():
    picture = np.full((7, 7, 3), 200, np.uint8)
    dimmed = dim(picture, np.array([[True, False], [False, False]]))
    assert (dimmed[:4, :4] == 200).all()
    foggy = np.round(200 * (1 - THICKNESS) + THICKNESS * np.array(FOG))
    assert (dimmed[4:] == foggy).all()
    assert (dimmed[:, 4:] == foggy).all()


def test_fog_is_light_enough_to_see_through():
    black, white = (dim(np.full((1, 1, 3), shade, np.uint8), np.array([[False]])) for shade in (0, 255))
    assert white.min() > 200
    assert (white.astype(int) - black).min() > 127


def test_what_the_learner_cannot_see_is_dimmed_in_the_picture_and_nothing_else(episodes):
    episode = episodes[0]
    row, column = episode.states[0].position[0].tolist()
    bare = Recording(episode.states, episode.rewards)  # without marks, which fog does not cover
    whole, partial = (np.asarray(draw_frames(task, bare)[0])[CAPTION:] for task in (SHORT, PARTIAL))
    for cell in np.ndindex(8, 8):
        middle = tuple(slice(48 * at + 4, 48 * at + 44) for at in cell)
        seen = max(abs(cell[0] - row), abs(cell[1] - column)) <= 2
        assert (partial[middle] == whole[middle]).all() == seen, cell


def test_the_command_writes_what_it_is_asked_for(tmp_path, monkeypatch, capsys, episodes):
    monkeypatch.setattr("openteam.commands.record.make", {"short": SHORT}.__getitem__)
    Record("short", tmp_path / "x.gif", seed=1, episodes=2)()
    assert f"train, return {episodes[0].total:.4g}, {episodes[1].total:.4g}" in capsys.readouterr().out.replace(
        "\n", ""
    )
    with Image.open(tmp_path / "x.gif") as picture:
        assert picture.n_frames == 2 * FRAMES


def test_several_policies_play_the_same_episode_and_types_see_everything(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("openteam.commands.record.make", {"partial": PARTIAL}.__getitem__)
    monkeypatch.setattr("openteam.drawing.record.write_recordings", lambda *given: drawn.append(given))
    Record("partial", tmp_path / "x.png", policy=("uniform", "uniform"), steps=4)()
    ((_, task, (one, other), _),) = drawn
    assert (one.learner, len(one.states)) == ("uniform", 5)
    assert (one.states[4].position == other.states[4].position).all()
    assert isinstance(task.view, FullView)


def test_the_learner_can_be_random_or_one_of_the_teammate_types():
    task = openteam.make("lbf")
    assert isinstance(find_policy(None, task), openteam.UniformRandom)
    assert find_policy("H3", task).limit == openteam.Foragers().member(jnp.array(2)).limit


def test_a_policy_that_is_neither_a_run_nor_a_type_is_refused():
    with pytest.raises(UserError, match=r"no run 'H9'.*one of: H1, .*H8"):
        find_policy("H9", openteam.make("lbf"))


def test_above_a_picture_stands_a_short_name(tmp_path):
    task, run = openteam.make("lbf"), tmp_path / "runs/gpl-q/seed-3"
    checkpoint = run / "checkpoints/16000.safetensors"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    captions = [caption_of(name, task) for name in (None, "H3", str(run), str(checkpoint))]
    assert captions == ["", "H3", *["gpl-q/seed-3"] * 2]

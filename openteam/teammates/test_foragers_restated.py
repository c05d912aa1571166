"""What foragers go for once more, in plain Python: on many random grids both must agree."""

import jax
import jax.numpy as jnp
import numpy as np

from openteam.teammates.test_foragers import NAMES, SCRIPTS
from openteam.worlds.lbf.draw import from_text


def nearest(foods, origin, sign=1):
    return min(foods, key=lambda food: (sign * ((food[0] - origin[0]) ** 2 + (food[1] - origin[1]) ** 2), food))


def heaviest(foods):
    return min(foods, key=lambda food: (-food[2], food))


def restated(name, me, team, foods):
    """All foods that a type might go for, said once more in plain Python."""
    centre = [round(sum(agent[axis] for agent in team) / len(team)) for axis in (0, 1)]
    gaps = [(agent[0] - me[0]) ** 2 + (agent[1] - me[1]) ** 2 for agent in team]
    far = [agent for agent, gap in zip(team, gaps, strict=True) if gap == max(gaps)]
    strongest = max(team, key=lambda agent: agent[2])
    leaders = [strongest] if strongest[2] > me[2] else far
    mine = [food for food in foods if food[2] <= me[2]]
    ours = [food for food in foods if food[2] <= sum(agent[2] for agent in team)]
    return {
        "H1": lambda: [nearest(foods, me)],
        "H2": lambda: [nearest(foods, centre)],
        "H3": lambda: [nearest(mine, me)] if mine else [],
        "H4": lambda: [nearest(ours, centre)] if ours else [],
        "H5": lambda: [nearest(foods, me, -1)],
        "H6": lambda: [heaviest(mine or foods)],
        "H7": lambda: [nearest(foods, agent, -1) for agent in far],
        "H8": lambda: [heaviest([f for f in foods if f[2] <= leader[2]] or foods) for leader in leaders],
    }[name]()


def test_on_random_grids_every_type_goes_where_plain_rules_say():
    rng, grids = np.random.default_rng(0), 500
    order = np.argsort(rng.random((grids, 36)), 1)[:, :6]
    cells = np.stack([order // 6, order % 6], -1).astype(np.int32)
    cells[:, 3:] = cells[:, 3:][np.arange(grids)[:, None], np.argsort(order[:, 3:], 1)]  # foods in row-major order
    level, weight = rng.integers(1, 4, (grids, 3)), rng.integers(0, 9, (grids, 3))
    present = np.stack([np.ones(grids, bool), np.ones(grids, bool), rng.random(grids) < 0.7], 1)
    leaves = (present, cells[:, :3], level.astype(np.int32), cells[:, 3:], weight.astype(np.int32))
    states = jax.tree.unflatten(jax.tree.structure(from_text("A1")), [jnp.asarray(leaf) for leaf in leaves])
    choose = jax.jit(jax.vmap(lambda state: SCRIPTS.decide(state, 1)))
    chosen = np.asarray(choose(states)[0])[:, :, 0]
    for grid in range(grids):
        agents = [(*cells[grid, j].tolist(), int(level[grid, j])) for j in range(3)]
        foods = [(*cells[grid, 3 + k].tolist(), int(weight[grid, k])) for k in range(3) if weight[grid, k] > 0]
        team = [agents[j] for j in (1, 0, 2) if present[grid, j]]
        for index, name in enumerate(NAMES):
            expected = {food[:2] for food in restated(name, agents[1], team, foods)} if foods else set()
            assert tuple(chosen[grid, index].tolist()) in (expected or {(-1, -1)}), (name, agents, foods)

"""One run on the devices of several processes, on one host or on many: all compute, the first alone writes.

Every process is given the same command and its number. They meet at the coordinator, which the first one is.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from openteam.errors import UserError, check_whole

SECONDS_TO_MEET = 300
SECONDS_TO_WAIT = 24 * 3600
COORDINATOR = "JAX_COORDINATOR_ADDRESS"


@dataclass(frozen=True)
class Hosts:
    """This process among those of a run."""

    coordinator: str
    """HOST:PORT of the first process, as all the others reach it."""
    process: int
    """Its number, from 0 on."""
    processes: int
    """How many there are."""

    @property
    def writes(self) -> bool:
        """Whether this is the process that writes."""
        return self.process == 0

    def devices_here(self, devices: int) -> int:
        """How many of a run's devices are this process's."""
        if devices % self.processes:
            raise UserError(
                f"--devices {devices} cannot be spread evenly over {self.processes} processes. Choose a multiple."
            )
        return devices // self.processes

    def meet(self) -> None:
        """Connect all processes; before JAX computes anything. The port is opened at the coordinator's address only."""
        import jax

        bind = os.environ.get("JAX_COORDINATOR_BIND_ADDRESS", self.coordinator)
        try:
            jax.distributed.initialize(
                self.coordinator, self.processes, self.process, cluster_detection_method="deactivate",
                coordinator_bind_address=bind, initialization_timeout=SECONDS_TO_MEET,
            )  # fmt: skip
        except (RuntimeError, ValueError) as error:
            raise UserError(
                f"Process {self.process} of {self.processes} did not meet the others at {self.coordinator}: "
                f"{str(error).splitlines()[0]} Start all of them with the same --coordinator and --processes."
            ) from None


def hosts_of(coordinator: str | None, process: int | None, processes: int | None) -> Hosts | None:
    """What flags say; the coordinator may also be in the environment, where JAX looks for it. None for one process."""
    if coordinator is None and process is None and processes is None:
        return None
    coordinator = coordinator or os.environ.get(COORDINATOR)
    if coordinator is None or process is None or processes is None:
        raise UserError(
            "A run on several processes needs all of --coordinator HOST:PORT, --processes N and --process K, from 0 to "
            f"N-1; the first may also be in {COORDINATOR}."
        )
    check_whole("--processes", processes, 1, 1024)
    check_whole("--process", process, 0, processes - 1)
    port = re.fullmatch(r".+:(\d{1,5})", coordinator)
    if port is None or not 0 < int(port[1]) < 2**16:
        raise UserError(f"--coordinator must be HOST:PORT, as in node-1:4321; got '{coordinator}'.")
    return Hosts(coordinator, process, processes)


def wait_for_others(meeting: int) -> None:
    """Go on when all processes are here, which may take as long as an evaluation.

    JAX's own meeting is a sum over devices, and Gloo, which takes those on a CPU, gives up after 30 seconds.
    """
    from jax._src.distributed import global_state  # JAX has no public name for it

    client = global_state.client
    if client is None:
        return
    try:
        client.wait_at_barrier(f"openteam-{meeting}", 1000 * SECONDS_TO_WAIT)
    except RuntimeError as error:
        raise UserError(
            f"Another process of this run is gone: {str(error).splitlines()[0]} Its last checkpoint is whole: openteam "
            "resume RUN goes on from there."
        ) from None

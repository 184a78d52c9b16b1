"""The unit every engine gets: its own user, the hardening these engines tolerate, patient starts and careful restarts."""

import math
from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.engines._place import Place
from planner.core.engines._systemd import Command, Entry, Section, argument, plain, variable
from planner.core.hardware import Node

# Slower than any SSD, about what a network file system or a busy hard disk gives.
DISK_BYTES_PER_S: Final = 100_000_000
# A line of 80 Mbit/s.
LINE_BYTES_PER_S: Final = 10_000_000
RESTART_SECONDS: Final = 10
STARTS: Final = 5
UNIT_FOLDER: Final = "/etc/systemd/system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A service: `name` is that of the unit, its user and its folder; `ready_seconds` what starting takes beside the weights."""

    name: str
    title: str
    documentation: str
    ready_seconds: int

    @property
    def home(self) -> str:
        return f"/var/lib/{self.name}"

    @property
    def unit_path(self) -> str:
        return f"{UNIT_FOLDER}/{self.name}.service"

    @property
    def drop_in_path(self) -> str:
        return f"{UNIT_FOLDER}/{self.name}.service.d/override.conf"

    @property
    def secrets_path(self) -> str:
        return f"/etc/{self.name}/secrets.env"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How long a start may take: reading the weights from a slow disk, downloading them over a slow line where the service does
    that itself, and `ready_seconds` for preparing the engine."""

    weight_bytes: int
    ready_seconds: int
    downloads: bool = False

    @property
    def reading_seconds(self) -> float:
        return self.weight_bytes / DISK_BYTES_PER_S

    @property
    def downloading_seconds(self) -> float:
        return self.weight_bytes / LINE_BYTES_PER_S if self.downloads else 0.0

    @property
    def seconds(self) -> int:
        """In whole minutes."""
        return math.ceil((self.ready_seconds + self.reading_seconds + self.downloading_seconds) / 60) * 60

    @property
    def why(self) -> str:
        reading = f"take {units.seconds(self.reading_seconds)} at {DISK_BYTES_PER_S // 10**6} MB/s from a disk"
        line = f"{LINE_BYTES_PER_S // 10**6} MB/s over the line"
        loading = f", and {units.seconds(self.downloading_seconds)} at {line} the first time" if self.downloads else ""
        return (
            f"{units.gib(self.weight_bytes)} of weights {reading}{loading}; "
            f"{self.ready_seconds} s are for preparing the engine. systemd's 90 s would end a slow start."
        )


def client_address(place: Place, port: int) -> str:
    """Where a client on the same machine finds the server: `127.0.0.1:8000`, `[::1]:8000`."""
    host = {None: "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(place.host, place.host or "")  # noqa: S104 - compared, not bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def secrets(daemon: Daemon) -> Entry:
    return Entry("EnvironmentFile", f"-{daemon.secrets_path}", "Keys, in a file that only root reads; the service starts without it too.")


def unit_section(daemon: Daemon, node: Node, *, model: str, start: Start) -> Section:
    nvidia = any(device.vendor == "NVIDIA" for device in node.devices)
    entries = [
        Entry("Description", plain(f"{daemon.title} serving {model}")),
        Entry("Documentation", daemon.documentation),
        Entry("Wants", "network-online.target"),
        Entry("After", "network-online.target"),
    ]
    if nvidia:
        reason = "The driver's device files must exist first: this service may not load kernel modules itself."
        entries += [Entry("Wants", "nvidia-persistenced.service", reason), Entry("After", "nvidia-persistenced.service")]
    window = STARTS * (start.seconds + RESTART_SECONDS)
    entries += [
        Entry(
            "StartLimitBurst",
            str(STARTS),
            f"After {STARTS} failed starts in a row it stays down, so that a wrong setting does not load the weights for ever.",
        ),
        Entry("StartLimitIntervalSec", str(window)),
    ]
    return Section("Unit", tuple(entries))


def service_section(
    daemon: Daemon,
    node: Node,
    *,
    place: Place,
    command: Command,
    start: Start,
    environment: tuple[Entry, ...] = (),
    health_address: str | None = None,
) -> Section:
    """The `[Service]` section. With a health address, a start counts as finished when the model answers there."""
    return Section(
        "Service",
        (
            Entry("Type", "exec"),
            Entry("User", daemon.name, "Its own user, which owns nothing but its folder."),
            Entry("Group", daemon.name),
            *_groups(node),
            Entry("StateDirectory", daemon.name),
            Entry("WorkingDirectory", daemon.home),
            Entry("Environment", variable("HOME", daemon.home)),
            *environment,
            command,
            *_readiness(health_address, start),
            Entry(
                "KillMode",
                "mixed",
                "Only the main process is asked to stop, because it ends its own workers; what is left after 30 s is killed.",
            ),
            Entry("TimeoutStopSec", "30"),
            Entry("Restart", "on-failure"),
            Entry("RestartSec", str(RESTART_SECONDS), "Time for the driver to give the memory back before the next start."),
            Entry("LimitMEMLOCK", "infinity", "Weights and transfer buffers may be locked in RAM."),
            Entry("LimitNOFILE", "65536", "Every open request is a file descriptor."),
            *_hardening(place),
        ),
    )


def _groups(node: Node) -> tuple[Entry, ...]:
    if any(device.vendor in {"AMD", "Intel"} for device in node.devices if device.is_gpu):
        return (Entry("SupplementaryGroups", "video render", "ROCm and oneAPI open /dev/kfd and /dev/dri, which belong to these groups."),)
    return ()


def _readiness(address: str | None, start: Start) -> tuple[Entry, ...]:
    if address is None:
        return ()
    tries = max(1, start.seconds // 2)
    probe = f"/usr/bin/curl --silent --fail --output /dev/null --retry {tries} --retry-delay 2 --retry-connrefused"
    why = "The start is finished when the model answers, so that what depends on it starts after that."
    return (
        Entry("ExecStartPost", f"-{probe} {argument(f'http://{address}/health')}", why),
        Entry("TimeoutStartSec", str(start.seconds), start.why),
    )


def _hardening(place: Place) -> tuple[Entry, ...]:
    """What these engines tolerate. Left out because it breaks them: PrivateDevices, DevicePolicy, ProtectClock (it closes the GPU's
    device files), MemoryDenyWriteExecute (kernels are compiled at run time), ProcSubset."""
    path = place.path or ""
    in_home = path.startswith(("/home/", "/root/", "/run/user/"))
    in_tmp = path.startswith(("/tmp/", "/var/tmp/"))  # noqa: S108 - compared, not opened
    home = (
        Entry("ProtectHome", "read-only", "The model lies in a home folder: readable, never writable.")
        if in_home
        else Entry("ProtectHome", "yes")
    )
    tmp = (
        Entry("PrivateTmp", "no", "The model lies in a folder for temporary files, which a private one would hide.")
        if in_tmp
        else Entry("PrivateTmp", "yes")
    )
    switches = (
        "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectHostname",
        "RestrictSUIDSGID", "RestrictNamespaces", "RestrictRealtime", "LockPersonality",
    )  # fmt: skip
    return (
        Entry(
            "NoNewPrivileges",
            "yes",
            "Hardening. The GPU's device files stay reachable: PrivateDevices, DevicePolicy and ProtectClock would close them.",
        ),
        Entry("ProtectSystem", "strict"),
        home,
        tmp,
        *(Entry(name, "yes") for name in switches),
        Entry("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
        Entry("SystemCallArchitectures", "native"),
        Entry("CapabilityBoundingSet", ""),
        Entry("UMask", "0077"),
    )


INSTALL: Final = Section("Install", (Entry("WantedBy", "multi-user.target"),))

"""Simulate power cuts while commands replace their output: the old one or the new one is left, never half of either.

    python fuzz/power_cut.py --cuts 50 --seed 0

It needs strace, and no rights. Each command runs once, over an older output of its own, and strace records what it
writes, syncs, renames and removes. A power cut is a place in this record. What is on the disk then is drawn from what
POSIX leaves open: a folder has its names as of its last sync, or as of any later moment before the cut, apart from all
other folders; a file that was changed since its last sync is as then, or has any part of the changes, or zeros instead.

The record must reproduce the files of the undisturbed run, so that nothing is missing from it. A command that does not
sync is the control: its cuts have to be found.

What is not simulated: disks that lose what they have acknowledged, and blocks of one file that arrive in any order.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CATALOG = (Path(__file__).parent.parent / "catalogs" / "4FGL-DR4.fits.gz").resolve()
TRACED = "openat,creat,write,writev,pwrite64,pwritev,lseek,ftruncate,fallocate,close,rename,renameat,renameat2,unlink"
TRACED += ",unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync"
RUN = (sys.executable, "-m", "fermiclass")
QUICK = ("--inducing", "20", "--quiet")
CHECKPOINT = "training.npz"
SAVING = ("--checkpoint", CHECKPOINT)
CARELESS = "open('labels.txt', 'w').write('new' * 100_000)"

#: For each job the command, without the part that differs between the old output and the new one.
JOBS = {
    "train": (*RUN, "train", str(CATALOG), "-o", "model", *QUICK, "--steps"),
    "train-rows": (
        *RUN,
        "train-rows",
        "../features.parquet",
        "-o",
        "model",
        "--checkpoint",
        "training.npz",
        *QUICK,
        "--steps",
    ),
    "classify": (*RUN, "classify", str(CATALOG), "-o", "labels.fits", *QUICK, "--steps"),
    "classify-rows": (*RUN, "classify-rows", "../features.parquet", "-o", "labels.parquet", "--quiet", "--model"),
    "report": (*RUN, "report", "-o", "page.html", "--quiet"),
    "control": (sys.executable, "-c", CARELESS),
}
OLD = {"classify-rows": ("../rows-60",), "report": ("../labels-60.fits",), "control": ()}
NEW = {"classify-rows": ("../rows-80",), "report": ("../labels-80.fits",), "control": ()}


@dataclass
class File:
    """A file: its bytes, and those of its last sync; None where nothing changed since then."""

    content: bytearray = field(default_factory=bytearray)
    synced: bytes | None = b""


@dataclass
class Folder:
    """A folder: its names after each change, and which of these is the oldest that may be on the disk."""

    versions: list[dict[str, File | Folder]]
    synced: int = 0

    @property
    def names(self) -> dict[str, File | Folder]:
        """The names now."""
        return self.versions[-1]

    def change(self, **_: object) -> dict[str, File | Folder]:
        """Return a new version of the names, to be changed."""
        self.versions.append(dict(self.versions[-1]))
        return self.versions[-1]


@dataclass
class Opened:
    """What a descriptor stands for, and its place."""

    what: File | Folder
    path: str
    place: int = 0


@dataclass
class Call:
    """A system call that succeeded."""

    name: str
    arguments: list[str]
    result: int


def calls(log: Path) -> Iterator[Call]:
    """Return the calls of a record of strace, in the order in which they ended."""
    begun: dict[str, str] = {}
    with log.open(encoding="latin-1") as lines:
        for line in lines:
            pid, _, rest = line.rstrip("\n").partition(" ")
            rest = rest.strip()
            if rest.endswith("<unfinished ...>"):
                begun[pid] = rest.removesuffix("<unfinished ...>").rstrip()
                continue
            if resumed := re.match(r"<\.\.\. \w+ resumed>", rest):
                rest = begun.pop(pid) + rest[resumed.end() :]
            found = re.fullmatch(r"(\w+)\((.*)\)\s+= (\d+).*", rest, re.DOTALL)
            if found:
                yield Call(found[1], re.split(r", (?![^\[]*\])", found[2]), int(found[3]))


def text(argument: str) -> bytes:
    """Return the bytes of a string that strace wrote in hexadecimal digits."""
    return bytes.fromhex("".join(re.findall(r'"([^"]*)"', argument)).replace("\\x", ""))


class Disk:
    """The files below one folder, changed by calls."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.root = self._load(home)
        self.opened: dict[int, Opened] = {}

    def _load(self, path: Path) -> Folder:
        names: dict[str, File | Folder] = {}
        for entry in path.iterdir():
            names[entry.name] = self._load(entry) if entry.is_dir() else File(bytearray(entry.read_bytes()), None)
        return Folder([names])

    def _path(self, name: str, at: str) -> str:
        folder = self.opened[int(at)].path if at.isdigit() and int(at) in self.opened else self.home
        return os.path.normpath(Path(folder, os.fsdecode(text(name))))

    def _find(self, path: str) -> tuple[Folder, str] | None:
        """Return the folder and the name of a path below the home folder; None for any other."""
        if not path.startswith(self.home + "/"):
            return None
        *folders, name = path[len(self.home) + 1 :].split("/")
        place = self.root
        for part in folders:
            inner = place.names.get(part)
            if not isinstance(inner, Folder):
                return None
            place = inner
        return place, name

    def apply(self, call: Call) -> bool:
        """Apply a call; return whether it changed anything."""
        name, given = call.name, call.arguments
        if name in ("openat", "creat"):
            at, path, flags = given[:3] if name == "openat" else ("AT_FDCWD", given[0], "O_CREAT|O_TRUNC")
            return self._open(self._path(path, at), flags, call.result)
        if name in ("rename", "renameat", "renameat2"):
            one, other = (given[0:2], given[2:4]) if name != "rename" else (("AT", given[0]), ("AT", given[1]))
            return self._rename(self._path(one[1], one[0]), self._path(other[1], other[0]), "EXCHANGE" in given[-1])
        if name in ("unlink", "rmdir", "mkdir", "unlinkat", "mkdirat"):
            at, path = given[:2] if name.endswith("at") else ("AT", given[0])
            found = self._find(self._path(path, at))
            if found is None:
                return False
            names = found[0].change()
            if name.startswith("mkdir"):
                names[found[1]] = Folder([{}])
            else:
                names.pop(found[1], None)
            return True
        return self._descriptor(call)

    def _open(self, path: str, flags: str, descriptor: int) -> bool:
        self.opened.pop(descriptor, None)
        if path == self.home:
            self.opened[descriptor] = Opened(self.root, path)
            return False
        found = self._find(path)
        if found is None:
            return False
        folder, name = found
        new = name not in folder.names
        if new and "O_CREAT" not in flags:
            return False
        if new:
            folder.change()[name] = File()
        what = folder.names[name]
        if isinstance(what, File) and "O_TRUNC" in flags and what.content:
            what.synced = bytes(what.content) if what.synced is None else what.synced
            what.content.clear()
        self.opened[descriptor] = Opened(what, path, len(what.content) if "O_APPEND" in flags else 0)
        return new or "O_TRUNC" in flags

    def _rename(self, one: str, other: str, exchange: bool) -> bool:
        here, there = self._find(one), self._find(other)
        if here is None or there is None:
            return False
        names = here[0].change()
        others = names if there[0] is here[0] else there[0].change()
        moved, replaced = names.pop(here[1]), others.get(there[1])
        others[there[1]] = moved
        if exchange and replaced is not None:
            names[here[1]] = replaced
        return True

    def _descriptor(self, call: Call) -> bool:
        number = int(call.arguments[0])
        about = self.opened.get(number)
        if about is None:
            return False
        what = about.what
        if call.name == "close":
            del self.opened[number]
        elif call.name == "lseek":
            about.place = call.result
        elif call.name in ("fsync", "fdatasync"):
            if isinstance(what, File):
                what.synced = None
            else:
                what.synced = len(what.versions) - 1
            return True
        elif isinstance(what, File):
            what.synced = bytes(what.content) if what.synced is None else what.synced
            self._write(call, about, what)
            return True
        return False

    def _write(self, call: Call, about: Opened, what: File) -> None:
        if call.name == "ftruncate":
            size = int(call.arguments[1])
            what.content[:] = what.content[:size].ljust(size, b"\0")
            return
        if call.name not in ("write", "writev", "pwrite64"):
            raise SystemExit(f"the call {call.name} is not simulated")
        place = int(call.arguments[-1]) if call.name == "pwrite64" else about.place
        data = text(", ".join(call.arguments[1:]))[: call.result]
        if len(what.content) < place:
            what.content.extend(b"\0" * (place - len(what.content)))
        what.content[place : place + len(data)] = data
        if call.name != "pwrite64":
            about.place += len(data)

    def after_cut(self, rng: random.Random) -> dict[str, bytes]:
        """Return what may be on the disk after a power cut now."""
        left: dict[str, bytes] = {}

        def walk(folder: Folder, begin: str) -> None:
            for name, what in folder.versions[rng.randint(folder.synced, len(folder.versions) - 1)].items():
                if isinstance(what, Folder):
                    walk(what, f"{begin}{name}/")
                else:
                    left[begin + name] = _after_cut(what, rng)

        walk(self.root, "")
        return left

    def now(self) -> dict[str, bytes]:
        """Return all files as the processes see them."""
        return dict(_all(self.root, ""))


def _after_cut(file: File, rng: random.Random) -> bytes:
    if file.synced is None:
        return bytes(file.content)
    place = rng.randint(0, len(file.content))
    lost = bytes(len(file.content) - place)
    return rng.choice(
        [file.synced, bytes(file.content), bytes(file.content[:place]), bytes(file.content[:place]) + lost]
    )


def _all(folder: Folder, begin: str) -> Iterator[tuple[str, bytes]]:
    for name, what in folder.names.items():
        if isinstance(what, Folder):
            yield from _all(what, f"{begin}{name}/")
        else:
            yield begin + name, bytes(what.content)


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def visible(content: dict[str, bytes]) -> dict[str, bytes]:
    """Return what is no temporary file, nor below a temporary folder, and no checkpoint."""
    return {name: data for name, data in content.items() if not name.startswith(".") and name != CHECKPOINT}


def record(job: str, home: Path) -> tuple[Path, dict[str, bytes], list[Call]]:
    """Make an old output, then the new one under strace; return the folder before, the files after, and the calls."""
    folder, before, log = home / job, home / f"{job}-before", home / f"{job}.log"
    folder.mkdir()
    if job == "control":
        (folder / "labels.txt").write_text("old" * 90_000)
    else:
        run([*JOBS[job], *OLD.get(job, ("60",))], folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    shutil.copytree(folder, before)
    trace = [
        "strace",
        "-f",
        "-xx",
        "-s",
        str(1 << 26),
        "--seccomp-bpf",
        "-e",
        f"trace={TRACED}",
        "-e",
        "signal=none",
        "-o",
        str(log),
    ]
    run([*trace, "-o", str(log), *JOBS[job], *NEW.get(job, ("80",))], folder)
    return before, files(folder), list(calls(log))


def run(command: list[str], folder: Path) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")


def main() -> None:
    """Record each job, then cut."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=50, help="of each job")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", default=",".join(JOBS))
    chosen = parser.parse_args()
    rng, bad = random.Random(chosen.seed), 0
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch).resolve()
        jobs = chosen.jobs.split(",")
        if any("rows" in job for job in jobs):
            run([*RUN, "features", str(CATALOG), "-o", "features.parquet", "--quiet"], home)
        for steps in ("60", "80"):
            if "classify-rows" in jobs:
                run([*RUN, "train-rows", "features.parquet", "-o", f"rows-{steps}", *QUICK, "--steps", steps], home)
            if "report" in jobs:
                run([*RUN, "classify", str(CATALOG), "-o", f"labels-{steps}.fits", *QUICK, "--steps", steps], home)
        for job in jobs:
            half = cut(job, home, chosen.cuts, rng)
            bad += half == 0 if job == "control" else half
    sys.exit(bad > 0)


def cut(job: str, home: Path, cuts: int, rng: random.Random) -> int:
    """Cut a job at random places of its record; return how often neither the old nor the new output was left."""
    before, after, record_of_job = record(job, home)
    old, new = visible(files(before)), visible(after)
    (home / job).rename(home / f"{job}-after")
    before.rename(home / job)
    disk, changes = Disk(home / job), [0]
    complete: set[bytes] = set()
    for number, call in enumerate(record_of_job, start=1):
        if disk.apply(call):
            changes.append(number)
        complete.add(disk.now().get(CHECKPOINT, b"")) if call.name.startswith("rename") else None
    if disk.now() != after:
        raise SystemExit(f"{job}: the record does not give the files of the command")
    if old == new:
        raise SystemExit(f"{job}: the old output is the new one")
    found = {"old": 0, "new": 0, "half": 0}
    for _ in range(cuts):
        stop = rng.choice(changes)
        disk = Disk(home / job)
        for call in record_of_job[:stop]:
            disk.apply(call)
        left = disk.after_cut(rng)
        output = visible(left)
        which = "old" if output == old else "new" if output == new else "half"
        if CHECKPOINT in left and left[CHECKPOINT] not in complete:
            which = "half"
        if which == "half" and job != "control":
            print(f"{job}, cut after call {stop}: { ({name: len(data) for name, data in left.items()}) }", flush=True)
        found[which] += 1
    print(f"{job}: {len(changes) - 1} changes of files, {cuts} cuts: {found}", flush=True)
    return found["half"]


if __name__ == "__main__":
    main()

"""Real mount paths in a namespace, for a user who may not write to the root of this machine."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.unit.local.node.fake_api import FakeApi, pod
from tests.unit.local.node.test_process import launch_of, log_text
from tests.unit.local.node.whole_node import finished, log_of, node
from tfjob.local.node import mount_namespace
from tfjob.local.node.mount_namespace import Namespaces, can_be_mounted, enter
from tfjob.local.node.process import start

MISSING = "/no-such-folder-of-tfjob"
NOBODY = 65534
PR_SET_DUMPABLE = 4

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with an empty root, a volume and a file, which every user can use.

    pytest's own folder is closed to other users.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for each in ("root", "volume", "other"):
            (folder / each).mkdir()
            (folder / each).chmod(0o777)
        (folder / "file").write_text("from a file")
        yield folder


def as_user(work: Callable[[], object]) -> str:
    """What `work` returns in a process of an ordinary user, or the error that it raises."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                # A process that changes its user may write its own maps only if it is dumpable.
                ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)
            os.umask(0)
            os.write(writing, str(work()).encode())
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(pid, 0)
    return text


def entered(folder: Path, *mounts: tuple[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    places = [[path, str(folder / name)] for path, name in mounts]
    enter(libc, root=str(folder / "root"), mounts=places)


@pytest.fixture
def _namespaces() -> None:
    """Some systems forbid namespaces to all users; containers then have translated paths."""

    def work() -> tuple[int, int]:
        libc = ctypes.CDLL(None)
        made = libc.unshare(mount_namespace.CLONE_NEWUSER | mount_namespace.CLONE_NEWNS)
        flags = ctypes.c_ulong(mount_namespace.MS_REC | mount_namespace.MS_SLAVE)
        return made, libc.mount(None, b"/", None, flags, None)

    if as_user(work) != "(0, 0)":
        pytest.skip("this system forbids namespaces to ordinary users")


@pytest.mark.usefixtures("_namespaces")
def test_mount_paths_lead_to_their_folders(folder: Path) -> None:
    def work() -> str:
        entered(
            folder,
            (MISSING, "volume"),
            (f"{MISSING}/below", "other"),
            ("/etc/no-such-folder-of-tfjob/file", "file"),
        )
        (Path(MISSING) / "below" / "written").write_text("kept")
        return Path("/etc/no-such-folder-of-tfjob/file").read_text()

    assert as_user(work) == "from a file"
    assert (folder / "other" / "written").read_text() == "kept"
    assert not Path(MISSING).exists()
    assert list((folder / "root").iterdir()) == []


@pytest.mark.usefixtures("_namespaces")
def test_all_other_files_are_those_of_the_machine(folder: Path) -> None:
    def work() -> str:
        entered(folder, (MISSING, "volume"))
        (folder / "other" / "written").write_text("kept")
        has_same = Path("/etc/passwd").read_text() == passwd
        return f"{has_same} {os.getuid()} {sorted(Path('/').iterdir()) == names}"

    passwd = Path("/etc/passwd").read_text()
    names = sorted([*Path("/").iterdir(), Path(MISSING)])
    assert as_user(work) == f"True {os.getuid() or NOBODY} True"
    assert (folder / "other" / "written").read_text() == "kept"


@pytest.mark.usefixtures("_namespaces")
def test_the_root_folder_of_a_container_with_mounts_is_read_only(folder: Path) -> None:
    def work() -> None:
        entered(folder, (MISSING, "volume"))
        Path("/beside").write_text("lost")

    assert "Read-only file system" in as_user(work)


@pytest.mark.usefixtures("_namespaces")
def test_another_process_can_join(folder: Path) -> None:
    def work() -> str:
        ready_in, ready_out = os.pipe()
        over_in, over_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(over_out)
            entered(folder, (MISSING, "volume"))
            os.write(ready_out, b"x")
            os.read(over_in, 1)
            os._exit(0)
        os.read(ready_in, 1)
        Namespaces(pid).join(MISSING)
        Path("joined").write_text("from outside")
        os.close(over_out)
        return Path.cwd().as_posix()

    assert as_user(work) == MISSING
    assert (folder / "volume" / "joined").read_text() == "from outside"


def test_the_namespaces_of_this_process_need_no_joining() -> None:
    assert not Namespaces(os.getpid())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (MISSING, "True"),
        (f"{MISSING}/deep/", "True"),
        ("/etc/no-such/file", "True"),
        ("/etc", "False"),
        ("/tmp/no-such-folder", "False"),  # noqa: S108 - not written to
        ("/proc/self/cwd/none", "False"),
        (f"{MISSING}/../etc", "False"),
        ("", "False"),
    ],
)
def test_only_mounts_that_hide_nothing_are_made(path: str, expected: str) -> None:
    assert as_user(lambda: can_be_mounted(path)) == expected


def test_a_path_that_the_user_can_create_is_not_mounted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not can_be_mounted(str(folder / "own" / "deep"))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert can_be_mounted(str(folder.resolve() / "own" / "deep"))


def test_nothing_is_mounted_below_a_folder_in_which_the_user_can_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of that folder would be read-only, as if it were full."""
    above = str(folder.resolve().parent)
    monkeypatch.setattr("os.access", lambda path, _: path == above)
    assert not can_be_mounted(str(folder.resolve() / "data"))


@pytest.mark.usefixtures("_namespaces")
@pytest.mark.parametrize(("is_real", "phase"), [(True, "Succeeded"), (False, "Failed")])
async def test_a_hard_coded_path_exists_unless_mounting_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_real: bool, phase: str
) -> None:
    # The tests may run as root, who could create the path.
    monkeypatch.setattr("os.access", lambda *_: False)
    api = FakeApi()
    script = "import sys; open('/no-such-' + sys.argv[1] + '/out', 'w').write('kept')"
    one = pod("p", "true", volumes=[{"name": "d", "hostPath": {"path": str(tmp_path)}}])
    one["spec"]["containers"][0] |= {
        "command": [sys.executable, "-c", script, "folder"],
        "volumeMounts": [{"name": "d", "mountPath": "/no-such-folder"}],
    }
    async with node(api, tmp_path, has_real_mounts=is_real):
        api.create(one)
        assert await finished(api) == phase, log_of(tmp_path, one)
    assert (tmp_path / "out").exists() == is_real


async def test_a_container_starts_where_nothing_can_be_mounted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "root").mkdir()
    launch = msgspec.structs.replace(
        launch_of(tmp_path, "sh", "-c", "echo started; exit 3"),
        mounts=((MISSING, str(tmp_path / "not-there")),),
        root=str(tmp_path / "root"),
    )
    ended = await (await start(launch)).wait()
    assert (ended.code, log_text(tmp_path)) == (3, "started")
    assert "mount paths are translated, not mounted: " in caplog.text

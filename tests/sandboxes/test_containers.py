"""Which container the host runs in, and the one line that would give it a jail there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.sandboxes.containers import TEMPORARY, USER_NAMESPACES, Container, detect_container, remedy

DOCKER, PODMAN, KUBERNETES = (Container(kind=kind) for kind in ("docker", "podman", "kubernetes"))
GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
FILTERED = {"proc/self/status": "Name:\tpython\nSeccomp:\t2\nSeccomp_filters:\t1\n"}
UNFILTERED = {"proc/self/status": "Name:\tpython\nSeccomp:\t0\n"}
APPARMOR = {"proc/self/attr/current": "docker-default (enforce)\n"}
NAMESPACES = ("user", "mount", "pid", "net", "ipc")
COST = "AppArmor then guards nothing in this container"
FILE = "   # the file: cellwright doctor --seccomp > cellwright.json"


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({".dockerenv": "", "etc/hosts": "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n"}, "kubernetes"),
        ({"var/run/secrets/kubernetes.io/serviceaccount/token": "x"}, "kubernetes"),
        ({"proc/1/cgroup": "9:pids:/docker/9bfe\n8:memory:/docker/9bfe\n"}, "docker"),
        ({"proc/1/cgroup": "5:pids:/kubepods/besteffort/pod1/2\n"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/lxc.payload.one\n"}, "lxc"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"proc/version": GVISOR}, "gvisor"),
    ],
)
def test_a_container_is_known_by_its_files(files: dict[str, str], kind: str, tmp_path: Path) -> None:
    container = detect_container(machine(tmp_path, files))
    assert container is not None
    assert container.kind == kind
    assert container.gvisor == (kind == "gvisor")


def test_a_machine_is_no_container(tmp_path: Path) -> None:
    files = {"proc/1/cgroup": "0::/init.scope\n", "etc/hosts": "127.0.0.1 localhost\n", "proc/version": "Linux 6.12"}
    assert detect_container(machine(tmp_path, files)) is None
    assert detect_container(tmp_path, kubernetes=True) == KUBERNETES


@pytest.mark.parametrize(
    ("container", "missing", "files", "line"),
    [
        (DOCKER, NAMESPACES, FILTERED, f"docker run --security-opt seccomp=cellwright.json …{FILE}"),
        (PODMAN, NAMESPACES, FILTERED, f"podman run --security-opt seccomp=cellwright.json …{FILE}"),
        (
            DOCKER,
            ("mount",),
            FILTERED | APPARMOR,
            f"docker run --security-opt seccomp=cellwright.json --security-opt apparmor=unconfined …{FILE}; {COST}",
        ),
        (DOCKER, ("mount",), UNFILTERED | APPARMOR, f"docker run --security-opt apparmor=unconfined …   # {COST}"),
        (
            DOCKER,
            (*NAMESPACES, "uid", TEMPORARY),
            FILTERED,
            f"docker run --user 1000 --tmpfs /tmp --security-opt seccomp=cellwright.json …{FILE}",
        ),
        (DOCKER, ("user", "uid"), UNFILTERED, "docker run --user 1000 …"),
        (DOCKER, (TEMPORARY,), FILTERED, "docker run --tmpfs /tmp …"),
        (
            KUBERNETES,
            NAMESPACES,
            FILTERED,
            "securityContext: {seccompProfile: {type: Localhost, localhostProfile: cellwright.json}}"
            "   # the file, in the node's /var/lib/kubelet/seccomp: cellwright doctor --seccomp > cellwright.json",
        ),
        (KUBERNETES, ("uid", TEMPORARY), FILTERED, "securityContext: {runAsUser: 1000}; an emptyDir volume at /tmp"),
        (Container(kind="lxc"), ("user",), FILTERED, "lxc config set NAME security.nesting true"),
        (
            DOCKER,
            ("user",),
            UNFILTERED | {"proc/sys/user/max_user_namespaces": "0\n"},
            "on the machine that runs the container: sysctl -w user.max_user_namespaces=10000",
        ),
        (
            None,
            ("user",),
            {"proc/sys/kernel/unprivileged_userns_clone": "0\n"},
            "sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            None,
            ("mount",),
            {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (None, ("user",), {"proc/sys/user/max_user_namespaces": "96343\n"}, USER_NAMESPACES),
        (None, ("uid",), {}, "run the host as an ordinary user"),
        (DOCKER, (), FILTERED, ""),
        (None, (), {}, ""),
    ],
)
def test_one_line_says_what_would_help_here(
    container: Container | None, missing: tuple[str, ...], files: dict[str, str], line: str, tmp_path: Path
) -> None:
    assert remedy(container, missing, machine(tmp_path, files)) == line


def test_gvisor_is_told_as_what_it_is(tmp_path: Path) -> None:
    container = detect_container(machine(tmp_path, {".dockerenv": "", "proc/version": GVISOR}))
    assert container == Container(kind="docker", gvisor=True)
    assert remedy(container, ("pid",), tmp_path).startswith("gVisor lacks pidfd_open, Landlock and other calls")

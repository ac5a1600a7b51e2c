"""What the host runs in, and the one line that gives it a jail there. Reads files below a root and changes nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

MACHINE = Path("/")
TEMPORARY = "a temporary directory"  # no layer, and missing where a container's root is read-only
_PROFILE = "cellwright doctor --seccomp > cellwright.json"
_GVISOR = "4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"  # what its /proc/version says, whatever the machine's kernel is
_SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
_NAMESPACES = frozenset({"user", "mount", "pid", "net", "ipc"})
_IN_GROUP = {"kubepods": "kubernetes", "libpod": "podman", "docker": "docker", "lxc": "lxc", "containerd": "containerd"}
_SYSCTLS = {  # that forbid user namespaces, with the value which allows them
    ("user/max_user_namespaces", "0"): "user.max_user_namespaces=10000",
    ("kernel/unprivileged_userns_clone", "0"): "kernel.unprivileged_userns_clone=1",
    ("kernel/apparmor_restrict_unprivileged_userns", "1"): "kernel.apparmor_restrict_unprivileged_userns=0",
}
USER_NAMESPACES = (
    "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Debian kernel.unprivileged_userns_clone=1, "
    "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """`kind` is docker, podman, kubernetes, containerd, lxc or systemd-nspawn. `gvisor`: its kernel is gVisor's."""

    kind: str
    gvisor: bool = False


def detect_container(root: Path = MACHINE, *, kubernetes: bool = False) -> Container | None:
    """None where nothing tells of a container. `kubernetes`: the environment has KUBERNETES_SERVICE_HOST."""
    gvisor = _GVISOR in _text(root / "proc/version")
    managed = _text(root / "etc/hosts").startswith("# Kubernetes-managed")
    if kubernetes or managed or (root / _SERVICE_ACCOUNT).is_dir():
        return Container(kind="kubernetes", gvisor=gvisor)
    if (root / "run/.containerenv").exists():
        return Container(kind="podman", gvisor=gvisor)
    if (root / ".dockerenv").exists():
        return Container(kind="docker", gvisor=gvisor)
    group = _text(root / "proc/1/cgroup")
    named = _text(root / "run/systemd/container").strip()
    kind = next((kind for word, kind in _IN_GROUP.items() if word in group), named)
    return Container(kind=kind or "gvisor", gvisor=gvisor) if kind or gvisor else None


def remedy(container: Container | None, missing: Collection[str], root: Path = MACHINE) -> str:
    """The one line that adds what is missing here, layers or `TEMPORARY`; "" where none is known."""
    if missing and container is not None and container.gvisor:
        return (
            "gVisor lacks pidfd_open, Landlock and other calls that a jail needs: run this container with another "
            "runtime (docker run --runtime runc …; Kubernetes: another runtimeClassName)"
        )
    forbidden = not _NAMESPACES.isdisjoint(missing)
    if container is None:
        return "; ".join([*([_sysctl(root) or USER_NAMESPACES] if forbidden else []), *_plain_words(missing)])
    words = {"kubernetes": _kubernetes, "containerd": _kubernetes, "lxc": _lxc}.get(container.kind, _run)
    lines = [words(container, missing, _Refusals(root, forbidden))]
    if forbidden and (sysctl := _sysctl(root)):
        lines.append(f"on the machine that runs the container: {sysctl}")
    return "; and ".join(filter(None, lines))


class _Refusals:
    """What of the container's runtime stands between the host and a jail, where namespaces are refused."""

    def __init__(self, root: Path, forbidden: bool) -> None:
        label = _text(root / "proc/self/attr/current")
        self.seccomp = forbidden and "\nSeccomp:\t2" in _text(root / "proc/self/status")
        self.apparmor = forbidden and "(enforce)" in label
        self.selinux = forbidden and ":container_t:" in label

    def comment(self, file: str) -> str:
        """What makes the file, and what the line costs."""
        words = [f"{file}: {_PROFILE}"] if self.seccomp else []
        words += ["AppArmor then guards nothing in this container"] if self.apparmor else []
        words += ["SELinux then guards nothing in this container"] if self.selinux else []
        return f"   # {'; '.join(words)}" if words else ""


def _run(container: Container, missing: Collection[str], refusals: _Refusals) -> str:
    options = ["--user 1000"] if "uid" in missing else []
    options += ["--tmpfs /tmp"] if TEMPORARY in missing else []
    options += ["--security-opt seccomp=cellwright.json"] if refusals.seccomp else []
    options += ["--security-opt apparmor=unconfined"] if refusals.apparmor else []
    options += ["--security-opt label=disable"] if refusals.selinux else []
    program = "podman" if container.kind == "podman" else "docker"
    return f"{program} run {' '.join(options)} …{refusals.comment('the file')}" if options else ""


def _kubernetes(container: Container, missing: Collection[str], refusals: _Refusals) -> str:
    context = ["runAsUser: 1000"] if "uid" in missing else []
    file = "seccompProfile: {type: Localhost, localhostProfile: cellwright.json}"
    context += [file] if refusals.seccomp else []
    context += ["appArmorProfile: {type: Unconfined}"] if refusals.apparmor else []
    lines = [f"securityContext: {{{', '.join(context)}}}"] if context else []
    lines += ["an emptyDir volume at /tmp"] if TEMPORARY in missing else []
    return "; ".join(lines) + refusals.comment("the file, in the node's /var/lib/kubelet/seccomp")


def _lxc(container: Container, missing: Collection[str], refusals: _Refusals) -> str:
    nested = ["lxc config set NAME security.nesting true"] if not _NAMESPACES.isdisjoint(missing) else []
    return "; ".join([*nested, *_plain_words(missing)])


def _plain_words(missing: Collection[str]) -> list[str]:
    user = ["run the host as an ordinary user"] if "uid" in missing else []
    return user + (["make /tmp writable, or set TMPDIR"] if TEMPORARY in missing else [])


def _sysctl(root: Path) -> str:
    for (name, forbids), allows in _SYSCTLS.items():
        if _text(root / "proc/sys" / name).strip() == forbids:
            return f"sysctl -w {allows}"
    return ""


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""

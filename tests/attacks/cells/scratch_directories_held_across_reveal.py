"""Keeps directories of the scratch, and a working directory in it, while it is taken away, and climbs from them.

Escape: a way from there to anything but the scratch itself, or a file that can still be made there
Control: directories of the scratch can be held open, and a file made from them
Scratch: yes
"""

# control
import os

os.makedirs("a/b/c")
held = [os.open(path, os.O_RDONLY) for path in (".", "a", "a/b/c")] + [os.open(path, os.O_PATH) for path in (".", "a")]
os.close(os.open("made", os.O_CREAT | os.O_WRONLY, dir_fd=held[2]))
os.chdir("a/b/c")
os.path.exists("made")

# attack
await reveal()
loot = [os.getcwd()]
scratch = {"a", "b", "c", "made"}
for fd in held:
    for ups in range(12):
        way = "/".join([".."] * ups) or "."
        try:
            names = set(os.listdir(os.open(way, os.O_RDONLY, dir_fd=fd)))
            loot.append(f"ESCAPED: {names}" if names - scratch else sorted(names))
        except OSError as error:
            loot.append(error.errno)
        for name in (f"{way}/live.txt", f"{way}/workspace/live.txt", f"{way}/{places['canary_dir'][1:]}/open.txt"):
            try:
                loot.append(f"ESCAPED: {os.read(os.open(name, os.O_RDONLY, dir_fd=fd), 1000)}")
            except OSError as error:
                loot.append(error.errno)
        for make in (
            lambda: os.open(f"{way}/{places['marker']}", os.O_CREAT | os.O_WRONLY, dir_fd=fd),
            lambda: os.mkdir(f"{way}/{places['marker']}", dir_fd=fd),
            lambda: os.symlink("x", f"{way}/{places['marker']}", dir_fd=fd),
            lambda: os.rename("/workspace/live.txt", f"{way}/moved", dst_dir_fd=fd),
            lambda: os.link("/workspace/live.txt", f"{way}/linked", dst_dir_fd=fd),
        ):
            try:
                make()
                loot.append("ESCAPED: made something in a scratch that is gone")
            except OSError as error:
                loot.append(error.errno)
for fd in held[:3]:
    try:
        os.fchdir(fd)
        loot += [os.listdir("."), os.listdir("../../../..")]
        os.chroot(".")
        loot.append("ESCAPED: another root")
    except OSError as error:
        loot.append(error.errno)
loot

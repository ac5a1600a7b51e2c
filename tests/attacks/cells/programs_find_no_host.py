"""Runs the machine's own programs, set-uid ones among them, to find what Python does not.

Layer: kernel
Escape: a program reads a canary, gets rights, or reaches the network
Control: a shell can be run
Limits: processes=16, wall_s=20
"""

# control
import subprocess

subprocess.run(["/bin/sh", "-c", "echo $((6*7))"], capture_output=True, text=True).stdout == "42\n"

# attack
out = []
for command in (
    f"cat {places['open_file']} {places['closed_file']} /etc/shadow",
    "env",
    "id",
    "su -c id",
    "mount",
    "mount -t proc proc /tmp",
    "unshare -Ur id",
    "nsenter -t 1 -a id",
    "ls /proc /.host /home /work",
    "find / -name '*.sock' -o -name 'canary*' 2>/dev/null",
    f"kill -9 {places['host_pid']}; kill -9 -1",
    "chroot / id",
    f"bash -c 'echo x > /dev/tcp/127.0.0.1/{places['tcp_port']}'",
    "ping -c1 -W1 127.0.0.1",
    "sudo -n id",
    "passwd -d root",
    "crontab -l",
    "dmesg",
    "df",
    f"touch /{places['marker']} /usr/lib/{places['marker']}",
    "perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0) && print qq(ESCAPED)'",
):
    try:
        ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=5)
        out.append((command, ran.returncode, ran.stdout[-300:], ran.stderr[-200:]))
        if "uid=0" in ran.stdout or "ESCAPED" in ran.stdout:
            out.append(f"ESCAPED: {command} {ran.stdout}")
    except BaseException as error:
        out.append((command, repr(error)))
out

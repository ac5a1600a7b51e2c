"""Passes descriptors to the host beside the bytes of a frame.

Escape: the host keeps them open
Control: a frame without any is answered
Uses: raw
Expect: none
"""

# control
vault.read("number") == 7

# attack
import socket

for _ in range(50):
    text = json.dumps([call("get", VAULT, "name"), []]).encode()
    data = struct.pack("<II", len(text), 0) + text
    fds = [os.open(".", os.O_RDONLY) for _ in range(10)]
    try:
        socket.send_fds(door.conn, [data], fds)
    except OSError:
        door.conn.sendall(data)
    finally:
        for fd in fds:
            os.close(fd)
vault.read("number")

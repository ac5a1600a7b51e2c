# Guest code, run before the control of an attack that says `Uses: raw`. Nothing in it is allowed or forbidden: it is what
# any guest could write, since the socket to the host and the code that speaks on it are the guest's own.

import itertools
import json
import os
import struct
import time

from cellwright_guest.door import Mailbox

world = type(vault)._cellwright_world
door = world.door
VAULT, BOOKS = vault._grip.handle, books._grip.handle
VAULT_CLASS, BOOKS_CLASS = type(vault)._cellwright_class, type(books)._cellwright_class
numbers = itertools.count(1_000_000)


kept = []


def handle(proxy):
    """The number of a host object, which stays held: a proxy that is let go of takes its number with it."""
    kept.append(proxy)
    return proxy._grip.handle


def send(message, *blobs):
    """One frame."""
    door.send(message, list(blobs))


def send_text(text, blobs=b""):
    """A frame with a header of one's own making."""
    door.conn.sendall(struct.pack("<II", len(text), len(blobs)) + text + blobs)


def call(verb, target, name="", tree=None, number=None):
    """The message of a call."""
    given = {"t": []} if tree is None else tree
    number = next(numbers) if number is None else number
    return ["c", number, door.cell, verb, target, name, [], given, *_path(number)]


def _path(number):
    """A path of its own, where the session is journaled; another each time a number is used again."""
    return [f"{door.cell}.{number}#{next(numbers)}", 1] if door.journaled else []


def journaled(verb, target, name="", tree=None, path="", line=1, cell=None):
    """The message of a call of a journaled session, with a path of one's own making."""
    message = call(verb, target, name, tree)
    message[2] = door.cell if cell is None else cell
    return [*message[:8], path, line]


def ask(verb, target, name="", tree=None, *blobs):
    """A call and its answer: whether it went well, and the tree that came."""
    mailbox = Mailbox()
    door.start(mailbox, verb, target, name, {"t": []} if tree is None else tree, list(blobs))
    while True:
        message, _ = door.receive(mailbox)
        if message[0] == "a":
            return bool(message[2]), message[3]
        world.serve(message, _, None)


def wait_for_the_end(seconds=8):
    """An honest guest would be answered; this one should be gone."""
    time.sleep(seconds)
    return "still here: " + repr(vault.read("greeting"))

"""File access: every path that the project writes and every stored file that it reads goes through this package.

Run folders may come from other people, and a client under test can write wherever its user can. Three rules follow:

- A file is written under a random name, with ``O_EXCL`` and ``O_NOFOLLOW``, and renamed when it is complete. A reader
  sees the whole file or none. A link at the target name is replaced, never written through.
- ``root`` is a folder that the user named. Links on the path to it are the user's own; below it none is followed.
- Only regular files are read, up to a maximum size. A pipe cannot block the reader.

Folders get mode 700 and files mode 600, regardless of the umask.
"""

from __future__ import annotations

from harness.files.named import must_be_file, read_named, write_named
from harness.files.places import kind_of, make_folder, new_folder, present
from harness.files.reading import MOST_BYTES, names, open_stored, read_stored, stored_pieces, tail
from harness.files.removal import remove_tree
from harness.files.room import lack_of_room
from harness.files.swapping import built
from harness.files.writing import create, new_file, open_log, remove_partials, unwritten, write_whole

__all__ = [
    "MOST_BYTES",
    "built",
    "create",
    "kind_of",
    "lack_of_room",
    "make_folder",
    "must_be_file",
    "names",
    "new_file",
    "new_folder",
    "open_log",
    "open_stored",
    "present",
    "read_named",
    "read_stored",
    "remove_partials",
    "remove_tree",
    "stored_pieces",
    "tail",
    "unwritten",
    "write_named",
    "write_whole",
]

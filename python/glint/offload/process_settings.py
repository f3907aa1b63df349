"""Settings of the process that are set permanently or for `with` blocks, also by several threads at a time."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class ProcessSetting:
    """A value that `write` sets and `read` gets. If blocks overlap, the value of the block that began last applies.
    After the last block has ended, the permanent value applies again."""

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], object]) -> None:
        self._read, self._write = read, write
        self._lock = threading.RLock()
        self._blocks: dict[object, Any] = {}  # values of the blocks, in the order in which they began
        self._permanent: Any = None  # the permanent value, while there are blocks

    def set(self, value: Any) -> Block:
        """Sets the value: for a `with` block, or permanently if the result is not used in a `with` statement."""
        with self._lock:
            if not self._blocks:
                self._permanent = self._read()
            key = object()
            self._blocks[key] = value
            self._write(value)
            return Block(self, key)

    def _end(self, key: object) -> None:
        with self._lock:
            del self._blocks[key]
            self._write([self._permanent, *self._blocks.values()][-1])

    def _keep(self, key: object) -> None:
        with self._lock:
            self._permanent = self._blocks.pop(key)


class Block:
    """The result of a function that sets a value, for a `with` statement. Without one, the value is permanent."""

    def __init__(self, setting: ProcessSetting, key: object) -> None:
        self._setting, self._key, self._is_entered = setting, key, False

    def __enter__(self) -> Block:
        self._is_entered = True
        return self

    def __exit__(self, *_: object) -> None:
        self._setting._end(self._key)

    def __del__(self) -> None:
        if not self._is_entered:
            self._setting._keep(self._key)

"""Names the platform of a wheel that carries the programs; `build-wheel` says which."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Any Python 3 on the platform in `OVERNIGHT_WHEEL_PLATFORM`; on every platform without it."""
        platform = os.environ.get("OVERNIGHT_WHEEL_PLATFORM")
        if platform:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            # The command `overnight`, which the other wheel must not hide where it is installed otherwise.
            build_data["shared_scripts"]["scripts/overnight"] = "overnight"

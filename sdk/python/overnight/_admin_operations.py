"""Every operation of `/v1/admin`, as coroutines over either transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, TypeVar

from overnight import _calls, _lists
from overnight._core import Core
from overnight._reading import read
from overnight.administration_records import (
    ApiKey,
    ApiKeyCreated,
    ApiKeyList,
    Grant,
    GrantCreated,
    Limits,
    Totals,
)
from overnight.records import Account, UsageFilter, UsageRecord

PAGE = 100
"""How many records one call reads."""

R = TypeVar("R")


class AdminOperations:
    def __init__(self, core: Core) -> None:
        self.core = core

    def list_accounts(self) -> AsyncGenerator[Account, None]:
        return self._pages(Account, "accounts")

    async def create_account(self, name: str, payments_activated: bool, key: str | None) -> Account:
        body = {"name": name, "payments_activated": payments_activated}
        return read(Account, await self._post(body, key, "accounts"))

    async def get_account(self, account_id: str) -> Account:
        return read(Account, await self._get("accounts", account_id))

    async def change(self, account_id: str, what: str) -> Account:
        """What changes nothing a second time and takes no body."""
        return read(Account, await self._post({}, None, "accounts", account_id, what))

    async def set_account_limits(self, account_id: str, limits: Limits) -> Account:
        return read(Account, await self._post({**limits}, None, "accounts", account_id, "limits"))

    async def set_monthly_credits(self, account_id: str, amount: str | None, key: str | None) -> Account:
        return await self._set(account_id, "monthly_credits", {"amount": amount}, key)

    async def set_low_credits(
        self, account_id: str, threshold: str | None, webhook: str | None, key: str | None
    ) -> Account:
        return await self._set(account_id, "low_credits", {"threshold": threshold, "webhook": webhook}, key)

    async def set_retention(
        self, account_id: str, retention_seconds: int | Literal["none"] | None, key: str | None
    ) -> Account:
        return await self._set(account_id, "retention", {"retention_seconds": retention_seconds}, key)

    async def get_account_totals(self, account_id: str) -> Totals:
        return read(Totals, await self._get("accounts", account_id, "totals"))

    def list_usage(self, account_id: str, query: UsageFilter) -> AsyncGenerator[UsageRecord, None]:
        path = ("v1", "admin", "accounts", account_id, "usage")
        return _lists.places(self.core, UsageRecord, path, {**query, "limit": _lists.PAGE})

    async def list_api_keys(self, account_id: str) -> ApiKeyList:
        return read(ApiKeyList, await self._get("accounts", account_id, "api_keys"))

    async def create_api_key(
        self, account_id: str, name: str | None, scope: str, expires_in: int | None, key: str | None
    ) -> ApiKeyCreated:
        body = {"name": name, "scope": scope, "expires_in": expires_in}
        return read(ApiKeyCreated, await self._post(body, key, "accounts", account_id, "api_keys"))

    async def revoke_api_key(self, account_id: str, api_key_id: str) -> ApiKey:
        path = ("accounts", account_id, "api_keys", api_key_id, "revoke")
        return read(ApiKey, await self._post({}, None, *path))

    def list_grants(self, account_id: str) -> AsyncGenerator[Grant, None]:
        return self._pages(Grant, "accounts", account_id, "grants")

    async def create_grant(self, account_id: str, amount: str, source: str | None, key: str | None) -> GrantCreated:
        body = {"amount": amount, "source": source}
        return read(GrantCreated, await self._post(body, key, "accounts", account_id, "grants"))

    async def _set(self, account_id: str, what: str, body: Mapping[str, Any], key: str | None) -> Account:
        return read(Account, await self._post(body, key, "accounts", account_id, what))

    async def _get(self, *path: str) -> Any:
        return await self.core.answer(_calls.get("v1", "admin", *path))

    async def _post(self, body: Mapping[str, Any], key: str | None, *path: str) -> Any:
        key = _calls.new_key() if key is None else _calls.check_key(key)
        return await self.core.answer(_calls.post(("v1", "admin", *path), body, key))

    def _pages(self, kind: type[R], *path: str) -> AsyncGenerator[R, None]:
        return _lists.places(self.core, kind, ("v1", "admin", *path), {"limit": PAGE})

"""The client of operators whose calls are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from overnight._admin_operations import AdminOperations
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

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncAdministration:
    """`Administration` with calls that are awaited, as `AsyncOvernight.administration`."""

    def __init__(self, operations: AdminOperations) -> None:
        self._operations = operations

    def list_accounts(self) -> AsyncIterator[Account]:
        """As `Administration.list_accounts`."""
        return self._operations.list_accounts()

    async def create_account(self, name: str, *, payments_activated: bool = False, key: str | None = None) -> Account:
        """As `Administration.create_account`."""
        return await self._operations.create_account(name, payments_activated, key)

    async def get_account(self, account_id: str) -> Account:
        """As `Administration.get_account`."""
        return await self._operations.get_account(account_id)

    async def activate_account(self, account_id: str) -> Account:
        """As `Administration.activate_account`."""
        return await self._operations.change(account_id, "activate")

    async def suspend_account(self, account_id: str) -> Account:
        """As `Administration.suspend_account`."""
        return await self._operations.change(account_id, "suspend")

    async def resume_account(self, account_id: str) -> Account:
        """As `Administration.resume_account`."""
        return await self._operations.change(account_id, "resume")

    async def close_account(self, account_id: str) -> Account:
        """As `Administration.close_account`."""
        return await self._operations.change(account_id, "close")

    async def erase_account(self, account_id: str) -> Account:
        """As `Administration.erase_account`."""
        return await self._operations.change(account_id, "erase")

    async def set_account_limits(self, account_id: str, **limits: Unpack[Limits]) -> Account:
        """As `Administration.set_account_limits`."""
        return await self._operations.set_account_limits(account_id, limits)

    async def set_monthly_credits(self, account_id: str, amount: str | None, *, key: str | None = None) -> Account:
        """As `Administration.set_monthly_credits`."""
        return await self._operations.set_monthly_credits(account_id, amount, key)

    async def set_low_credits(
        self, account_id: str, threshold: str | None, webhook: str | None = None, *, key: str | None = None
    ) -> Account:
        """As `Administration.set_low_credits`."""
        return await self._operations.set_low_credits(account_id, threshold, webhook, key)

    async def set_retention(
        self, account_id: str, retention_seconds: int | Literal["none"] | None, *, key: str | None = None
    ) -> Account:
        """As `Administration.set_retention`."""
        return await self._operations.set_retention(account_id, retention_seconds, key)

    async def get_account_totals(self, account_id: str) -> Totals:
        """As `Administration.get_account_totals`."""
        return await self._operations.get_account_totals(account_id)

    def list_usage(self, account_id: str, **query: Unpack[UsageFilter]) -> AsyncIterator[UsageRecord]:
        """As `Administration.list_usage`."""
        return self._operations.list_usage(account_id, query)

    async def list_api_keys(self, account_id: str) -> ApiKeyList:
        """As `Administration.list_api_keys`."""
        return await self._operations.list_api_keys(account_id)

    async def create_api_key(
        self,
        account_id: str,
        *,
        name: str | None = None,
        scope: Literal["write", "read", "admin"] = "write",
        expires_in: int | None = None,
        key: str | None = None,
    ) -> ApiKeyCreated:
        """As `Administration.create_api_key`."""
        return await self._operations.create_api_key(account_id, name, scope, expires_in, key)

    async def revoke_api_key(self, account_id: str, api_key_id: str) -> ApiKey:
        """As `Administration.revoke_api_key`."""
        return await self._operations.revoke_api_key(account_id, api_key_id)

    def list_grants(self, account_id: str) -> AsyncIterator[Grant]:
        """As `Administration.list_grants`."""
        return self._operations.list_grants(account_id)

    async def create_grant(
        self, account_id: str, amount: str, *, source: str | None = None, key: str | None = None
    ) -> GrantCreated:
        """As `Administration.create_grant`."""
        return await self._operations.create_grant(account_id, amount, source, key)

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
    """What API keys with the scope `admin` may do to every account, as `AsyncOvernight.administration`.

    Every call that makes or sets something carries an idempotency key, so that it is done once however often it is
    repeated on its way. `key`, 1 to 255 visible ASCII characters, does it once within 48 hours, whoever sends it.
    """

    def __init__(self, operations: AdminOperations) -> None:
        self._operations = operations

    def list_accounts(self) -> AsyncIterator[Account]:
        """Every account, oldest first, read page by page."""
        return self._operations.list_accounts()

    async def create_account(self, name: str, *, payments_activated: bool = False, key: str | None = None) -> Account:
        """Makes an account without credits. Its keys work once payments are activated, where requests cost credits."""
        return await self._operations.create_account(name, payments_activated, key)

    async def get_account(self, account_id: str) -> Account:
        """The account, its credits and its quotas."""
        return await self._operations.get_account(account_id)

    async def activate_account(self, account_id: str) -> Account:
        """Activates its payments."""
        return await self._operations.change(account_id, "activate")

    async def suspend_account(self, account_id: str) -> Account:
        """Its keys and members read, and change nothing, until it is resumed."""
        return await self._operations.change(account_id, "suspend")

    async def resume_account(self, account_id: str) -> Account:
        """Lets a suspended account go on."""
        return await self._operations.change(account_id, "resume")

    async def close_account(self, account_id: str) -> Account:
        """Closes the account for good: its keys are revoked, and what waits is cancelled. The account of the
        client's own key is refused."""
        return await self._operations.change(account_id, "close")

    async def erase_account(self, account_id: str) -> Account:
        """Erases what a closed account had, all but the entries of its ledger. Nothing brings it back."""
        return await self._operations.change(account_id, "erase")

    async def set_account_limits(self, account_id: str, **limits: Unpack[Limits]) -> Account:
        """Sets quotas of the account's own."""
        return await self._operations.set_account_limits(account_id, limits)

    async def set_monthly_credits(self, account_id: str, amount: str | None, *, key: str | None = None) -> Account:
        """Grants the account so much once each calendar month (UTC); None for nothing."""
        return await self._operations.set_monthly_credits(account_id, amount, key)

    async def set_low_credits(
        self, account_id: str, threshold: str | None, webhook: str | None = None, *, key: str | None = None
    ) -> Account:
        """Has `webhook` told by an event `account.low_credits` once less than `threshold` is available; None for
        never."""
        return await self._operations.set_low_credits(account_id, threshold, webhook, key)

    async def set_retention(
        self, account_id: str, retention_seconds: int | Literal["none"] | None, *, key: str | None = None
    ) -> Account:
        """Keeps ended requests for so long: from a day to 3,650, `"none"` for ever, None for as long as the settings
        say."""
        return await self._operations.set_retention(account_id, retention_seconds, key)

    async def get_account_totals(self, account_id: str) -> Totals:
        """What the account has, holds and spent."""
        return await self._operations.get_account_totals(account_id)

    def list_usage(self, account_id: str, **query: Unpack[UsageFilter]) -> AsyncIterator[UsageRecord]:
        """What the account completed and was charged for, read page by page."""
        return self._operations.list_usage(account_id, query)

    async def list_api_keys(self, account_id: str) -> ApiKeyList:
        """The keys of the account."""
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
        """Makes a key, which works for `expires_in` seconds, or until it is revoked."""
        return await self._operations.create_api_key(account_id, name, scope, expires_in, key)

    async def revoke_api_key(self, account_id: str, api_key_id: str) -> ApiKey:
        """Revokes a key. Not the one of the client."""
        return await self._operations.revoke_api_key(account_id, api_key_id)

    def list_grants(self, account_id: str) -> AsyncIterator[Grant]:
        """What the account was granted, the newest first, read page by page."""
        return self._operations.list_grants(account_id)

    async def create_grant(
        self, account_id: str, amount: str, *, source: str | None = None, key: str | None = None
    ) -> GrantCreated:
        """Grants credits, or takes back what is available where `amount` is below 0. Of one `source` the account is
        granted once."""
        return await self._operations.create_grant(account_id, amount, source, key)

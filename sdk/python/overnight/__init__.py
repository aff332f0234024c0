"""Client of Overnight, a self-hosted asynchronous batch inference service.

    import overnight

    client = overnight.Overnight()
    for answer in client.map(["What is the capital of France?", "What is the capital of Peru?"]):
        print(answer.index, answer.text)

`Overnight` and `AsyncOvernight` have every operation of the API; `map` and `map_frame` ask a model about every row of a
table; `local` starts a service of one's own; `webhooks` checks and reads what the service tells your own server.
"""

from overnight import webhooks
from overnight._embedding import Embedding
from overnight._local import LocalService, local
from overnight._mapping import Answer, AnswerError
from overnight._programs import LocalError
from overnight._progress import Progress
from overnight._version import __version__
from overnight.administration import Administration
from overnight.answers import Answers
from overnight.async_administration import AsyncAdministration
from overnight.async_answers import AsyncAnswers
from overnight.async_client import AsyncOvernight
from overnight.async_once import AsyncOnce
from overnight.client import Overnight
from overnight.errors import (
    AlreadyEndedError,
    APIError,
    AuthenticationError,
    ConflictError,
    CreditsError,
    CutError,
    ErrorBody,
    ErrorDetail,
    ForeignError,
    IdempotencyKeyReusedError,
    InvalidCallError,
    InvalidInputError,
    NotEndedError,
    NotFoundError,
    OvernightError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
    TooLargeError,
    TransportError,
    UnavailableError,
    UnreadableError,
)
from overnight.once import Once
from overnight.records import (
    Account,
    AccountQuotas,
    Batch,
    BatchCreated,
    BatchFilter,
    BatchState,
    BatchStatus,
    BulkOutcome,
    CreateRequest,
    FailedAttempt,
    Failure,
    FieldWarning,
    LowCredits,
    Model,
    Order,
    QuotaUse,
    Request,
    RequestCreated,
    RequestFilter,
    RequestsCounts,
    RequestState,
    RequestStatus,
    Usage,
    UsageFilter,
    UsageRecord,
    WaitingFor,
)

__all__ = [
    "APIError",
    "Account",
    "AccountQuotas",
    "Administration",
    "AlreadyEndedError",
    "Answer",
    "AnswerError",
    "Answers",
    "AsyncAdministration",
    "AsyncAnswers",
    "AsyncOnce",
    "AsyncOvernight",
    "AuthenticationError",
    "Batch",
    "BatchCreated",
    "BatchFilter",
    "BatchState",
    "BatchStatus",
    "BulkOutcome",
    "ConflictError",
    "CreateRequest",
    "CreditsError",
    "CutError",
    "Embedding",
    "ErrorBody",
    "ErrorDetail",
    "FailedAttempt",
    "Failure",
    "FieldWarning",
    "ForeignError",
    "IdempotencyKeyReusedError",
    "InvalidCallError",
    "InvalidInputError",
    "LocalError",
    "LocalService",
    "LowCredits",
    "Model",
    "NotEndedError",
    "NotFoundError",
    "Once",
    "Order",
    "Overnight",
    "OvernightError",
    "PermissionDeniedError",
    "Progress",
    "QuotaExceededError",
    "QuotaUse",
    "RateLimitError",
    "Request",
    "RequestCreated",
    "RequestFilter",
    "RequestState",
    "RequestStatus",
    "RequestsCounts",
    "ServerError",
    "TooLargeError",
    "TransportError",
    "UnavailableError",
    "UnreadableError",
    "Usage",
    "UsageFilter",
    "UsageRecord",
    "WaitingFor",
    "__version__",
    "local",
    "webhooks",
]

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};

use super::{
    Checkout, Notice, NoticeReference, NoticeRefused, Order, PaymentError, PaymentProvider, PaymentUnusable,
    Receipt, SessionState, Told,
};

/// Without payments: the operator grants credits.
pub(super) struct Manual;

impl PaymentProvider for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn check(&self) -> Result<(), PaymentUnusable> {
        Ok(())
    }

    fn open_checkout<'a>(&'a self, _order: &'a Order) -> BoxFuture<'a, Result<Checkout, PaymentError>> {
        future::ready(Err(PaymentError::NotTaken)).boxed()
    }

    fn read_notice(&self, _: Option<&[u8]>, _: &[u8], _: i64) -> Result<Told, NoticeRefused> {
        Err(NoticeRefused::NotTaken)
    }

    fn fetch_notice<'a>(&'a self, _: &'a NoticeReference) -> BoxFuture<'a, Result<Notice, PaymentError>> {
        future::ready(Err(PaymentError::NotTaken)).boxed()
    }

    fn find_receipt<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Receipt>, PaymentError>> {
        future::ready(Ok(None)).boxed()
    }

    fn find_session<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<SessionState, PaymentError>> {
        future::ready(Err(PaymentError::NotTaken)).boxed()
    }
}

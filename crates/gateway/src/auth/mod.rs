//! Who asks: from the `authorization` header to a [`Principal`].
//!
//! Invariants: no request reaches the account without a principal; secrets are compared in constant
//! time and never logged; what a principal may do is the account's business.

pub(crate) mod date;
mod header;
mod identity;
mod key;
mod master;

use account::{Account, Principal};
use http::Method;

pub(crate) use self::key::{Access, Key, KeyRing};
pub use self::key::{KeyError, Keys, WELL_KNOWN_KEY};
use self::{header::Credential, master::Signature};
use crate::{
    error::Error,
    headers::{Name, RequestHeaders},
    options::GatewayOptions,
    paths::Path,
};

/// Returns the principal of a request, or why there is none.
pub(crate) fn authenticate(
    options: &GatewayOptions,
    keys: &KeyRing,
    account: &Account,
    method: &Method,
    path: &Path,
    headers: &RequestHeaders<'_>,
) -> Result<Principal, Error> {
    let value = headers.get(Name::Authorization)?.ok_or(Error::AuthorizationMissing)?;
    let value = header::decode(value)?;
    match header::parse(&value)? {
        Credential::Master { signature } => {
            let request = Signature::of(method, path, headers)?;
            let access = request.verify(keys, signature)?;
            if let Some(window) = options.date_window {
                date::check(request.date_seconds(), window, options.env.now_seconds())?;
            }
            Ok(access.principal())
        }
        Credential::Resource { token } => {
            account.open_token(token).map(Principal::Token).map_err(Error::Token)
        }
        Credential::Identity { token } => {
            if !options.identity_tokens {
                return Err(Error::IdentityDisabled);
            }
            identity::check(token, keys, options.env.now_seconds())?;
            Ok(Principal::Identity)
        }
    }
}

/// Runs the decoder of the header on foreign bytes; used by fuzz targets.
pub(crate) fn fuzz_header(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(value) = header::decode(text) else { return };
    match header::parse(&value) {
        Ok(Credential::Master { signature }) => {
            let _ = master::decode_signature(signature);
        }
        Ok(Credential::Identity { token }) => {
            if let Ok(keys) = Keys::new(WELL_KNOWN_KEY).ring() {
                let _ = identity::check(token, &keys, 0);
            }
        }
        Ok(Credential::Resource { .. }) | Err(_) => {}
    }
}
